"""Measures the cost of admitting an eligible execution while 100,000 wait behind 10,000 closed gates, or none do.

There are two queues on one server, filled once. Before the first run, admission has already moved all executions that
wait for closed gates behind them.
"""

from .engine import Engine
from .question import Figure, Measured, Question, Target
from .rig import Rig
from .server_time import FCALL, script_usec, server_time

EMPTY, CLOSED = "nothing else waits", "100,000 behind 10,000 closed gates"
BEHIND_EACH = 10


def prepare(rig: Rig) -> None:
    """Close the gates, park executions that need them, and let admission find the gates closed."""
    engine, gates = Engine(rig.client, _prefix(CLOSED)), rig.sized(50, 1000, 10_000)
    for gate in range(gates):
        engine.controls.set_limit(f"closed:{gate}", 0)
    engine.fill(gates * BEHIND_EACH, lambda number: (f"closed:{number % gates}",))
    while engine.transitions.admit(("default",), 1, lease_ms=1000).more:
        pass


def measure(rig: Rig, side: str) -> Measured:
    """Park eligible executions, admit them, release them."""
    engine, calls = Engine(rig.client, _prefix(side)), rig.sized(20, 200, 1000)
    park = script_usec(rig.client, engine.park, calls)
    with server_time(rig.client) as admit:
        grants = [grant for _ in range(calls) for grant in engine.admit()]
    with server_time(rig.client) as release:
        for grant in grants:
            engine.release(grant)
    assert len(grants) == calls
    return {"park": park, "admit": admit.per_call(FCALL), "release": release.per_call(FCALL)}


def _prefix(side: str) -> str:
    return "empty" if side == EMPTY else "closed"


QUESTION = Question(
    name="closed_gates",
    asks="What does admitting an eligible execution cost with 100,000 behind 10,000 closed gates?",
    sides=(EMPTY, CLOSED),
    figures=tuple(Figure(name, "µs") for name in ("park", "admit", "release")),
    measure=measure,
    targets=(Target(CLOSED, "admit", at_most=2, of_side=EMPTY),),
    prepare=prepare,
)
