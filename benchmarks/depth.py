"""Measures whether a transition costs more with more waiting executions: 1,000,000 against 1,000.

There are two queues on one server, filled once. Each run parks, admits and releases a few hundred executions in each,
so that their lengths stay the same.
"""

from .engine import Engine
from .question import Figure, Measured, Question, Target
from .rig import Rig
from .server_time import FCALL, script_usec, server_time

FEW, MANY = "1,000 waiting", "1,000,000 waiting"
WAITING = 1000


def prepare(rig: Rig) -> None:
    """Fill both queues."""
    Engine(rig.client, _prefix(FEW)).fill(WAITING)
    Engine(rig.client, _prefix(MANY)).fill(rig.sized(3000, 30_000, 1_000_000))


def measure(rig: Rig, side: str) -> Measured:
    """Park, admit and release the same number of executions."""
    engine, calls = Engine(rig.client, _prefix(side)), rig.sized(20, 200, 500)
    park = script_usec(rig.client, engine.park, calls)
    with server_time(rig.client) as admit:
        grants = [grant for _ in range(calls) for grant in engine.admit()]
    with server_time(rig.client) as release:
        for grant in grants:
            engine.release(grant)
    costs = {"park": park, "admit": admit.per_call(FCALL), "release": release.per_call(FCALL)}
    return {**costs, "all three": sum(costs.values())}


def _prefix(side: str) -> str:
    return "few" if side == FEW else "many"


QUESTION = Question(
    name="depth",
    asks="Does the server's cost grow with the number that wait?",
    sides=(FEW, MANY),
    figures=tuple(Figure(name, "µs") for name in ("park", "admit", "release", "all three")),
    measure=measure,
    targets=(Target(MANY, "all three", at_most=1.3, of_side=FEW),),
    prepare=prepare,
)
