"""Measures the worst mix for gates: each execution needs two gates, and whenever one opens, the other is closed.

Other executions hold the two gates, of limit 1, in turn. So all waiting executions are moved from behind one gate to
behind the other, again and again, before they may run. Measured are the most moves of one call (its bound is 100), the
longest call, and whether all run in the end, in order.
"""

import time

from .engine import LANE, LEASE_MS, Engine
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

GATES = ("left", "right")
MOST_MOVES = 100
FLIPS = 6
URGENT = 0
"""The band of the executions that hold one gate."""


class _Watched:
    """Calls admission until it has no more to do, and records the longest call and the most moves of a call."""

    def __init__(self, rig: Rig, engine: Engine) -> None:
        self._client = rig.client
        self._engine = engine
        self.longest_ms = 0.0
        self.most_moves = 0

    def admit(self) -> list[str]:
        """Admit one, or find out that none may run."""
        while True:
            before, began = self._behind_left(), time.perf_counter()
            admission = self._engine.transitions.admit((LANE,), 1, lease_ms=LEASE_MS, consumer=True)
            self.longest_ms = max(self.longest_ms, (time.perf_counter() - began) * 1000)
            self.most_moves = max(self.most_moves, abs(self._behind_left() - before))
            if admission.grants or not admission.more:
                self.grants = admission.grants
                return [grant.execution_id for grant in admission.grants]

    def _behind_left(self) -> int:
        return int(self._client.zcard(self._engine.keys.waiting(GATES[0], LANE)))  # pyright: ignore[reportArgumentType]


def measure(rig: Rig, side: str) -> Measured:
    """Open and close the gates in turn a few times, then let all executions run, one after the other."""
    engine = Engine(rig.client)
    watched = _Watched(rig, engine)
    for gate in GATES:
        engine.controls.set_limit(gate, 1)
        engine.park(gate, band=URGENT)
    holders = {gate: engine.admit()[0] for gate in GATES}
    waiting = engine.fill(rig.sized(150, 400, 2000), lambda _: GATES)
    watched.admit()
    for flip in range(FLIPS):
        gate = GATES[flip % 2]
        engine.release(holders.pop(gate))
        assert watched.admit() == [], "the other gate is closed"
        engine.park(gate, band=URGENT)
        (holders[gate],) = engine.admit()
    for holder in holders.values():
        engine.release(holder)
    ran: list[str] = []
    while admitted := watched.admit():
        ran += admitted
        engine.release(watched.grants[0])
    return {
        "moves a call": watched.most_moves,
        "longest call": watched.longest_ms,
        "never ran": len(set(waiting) - set(ran)),
        "out of order": sum(a != b for a, b in zip(waiting, ran, strict=False)),
    }


QUESTION = Question(
    name="pathological",
    asks="Each execution in two gates that alternate: is a call bounded, does any starve?",
    sides=(BANDMASTER,),
    figures=(
        Figure("moves a call", "moves"),
        Figure("longest call", "ms"),
        Figure("never ran", "jobs"),
        Figure("out of order", "jobs"),
    ),
    measure=measure,
    targets=(
        Target(BANDMASTER, "moves a call", at_most=MOST_MOVES),
        Target(BANDMASTER, "never ran", at_most=0),
        Target(BANDMASTER, "out of order", at_most=0),
    ),
)
