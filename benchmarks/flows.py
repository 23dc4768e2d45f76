"""Measures what an end costs the server while 20,000 wait behind limits of users and of actions.

Each execution passes two gates, its user's and its action's, drawn at random; all of them are full, so whatever ends
opens two gates, and behind each of these are some that the other gate still holds back. The worker asks with each end
for as many as it has free threads. The last side has a tenth as many waiting: the cost must not grow with the backlog.
"""

import random
import time
from collections import deque
from dataclasses import dataclass
from typing import Final

from .engine import Engine
from .question import Figure, Measured, Question, Target
from .rig import Rig
from .server_time import FCALL, server_time

MOST_USEC: Final = 250
LONGEST_MS: Final = 5
THREADS: Final = 64


@dataclass(frozen=True, slots=True)
class _Case:
    users: int
    actions: int
    limit: int
    waiting: int = 20_000


CASES: Final = {
    "4 users × 4 actions, limit 4": _Case(4, 4, 4),
    "2 users × 2 actions, limit 1": _Case(2, 2, 1),
    "50 users × 5 actions, limit 4": _Case(50, 5, 4),
    "4 users × 4 actions, limit 4, 2,000 waiting": _Case(4, 4, 4, waiting=2_000),
}


def measure(rig: Rig, side: str) -> Measured:
    """Fill the gates, then end one execution after the other."""
    case, engine, draw = CASES[side], Engine(rig.client, "flows"), random.Random(7)
    users, actions = ([f"{kind}:{number}" for number in range(many)] for kind, many in _kinds(case))
    for gate in (*users, *actions):
        engine.controls.set_limit(gate, case.limit)
    engine.fill(case.waiting * rig.sized(1, 10, 100) // 100, lambda _: (draw.choice(users), draw.choice(actions)))
    running = deque(engine.admit(THREADS))
    while found := engine.admit(THREADS):
        running.extend(found)
    longest_ms, ends = 0.0, rig.sized(10, 50, 500)
    with server_time(rig.client) as spent:
        for _ in range(ends):
            began = time.perf_counter()
            running.extend(engine.release(running.popleft(), THREADS - len(running)))
            longest_ms = max(longest_ms, (time.perf_counter() - began) * 1000)
    return {"an end": spent.usec.get(FCALL, 0.0) / ends, "longest": longest_ms}


def _kinds(case: _Case) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("tenant", case.users), ("host", case.actions)


QUESTION = Question(
    name="flows",
    asks="What does an end cost the server while 20,000 wait, each behind a limit of its user and of its action?",
    sides=tuple(CASES),
    figures=(Figure("an end", "µs"), Figure("longest", "ms")),
    measure=measure,
    targets=tuple(
        target
        for side in CASES
        for target in (
            Target(side, "an end", at_most=MOST_USEC),
            Target(side, "longest", at_most=LONGEST_MS),
        )
    ),
)
