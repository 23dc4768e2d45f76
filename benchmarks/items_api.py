"""Measures how many items a second one API process hands out: to one robot, to many at once, and twenty by twenty.

Beside it, a bare endpoint that reads nothing and knows nobody answers as many robots at once: what HTTP alone costs on
the machine. Of both, the processor time of a request is measured as well, which others on the machine disturb less.
Nothing is said of the items: what is asked about is `POST /api/v1/queue-items/next`, whole, on PostgreSQL.
"""

from contextlib import closing
from typing import Final

from .api_calls import API, SHOWN, Calls, bare_endpoint, served, used_seconds
from .item_ledger import CLAIMERS, QUEUE, item_ledger, seconds_of
from .question import Figure, Measured, Question, Target
from .rig import Rig
from .robots import Robot

ENDPOINT: Final = "bare endpoint"
ALONE: Final = "claims of one robot"
EIGHT: Final = "claims of 8 robots"
JOINED: Final = "claims of 32 robots"
BATCHES: Final = "20 items a claim, 8 robots"
_ROBOTS: Final = {ENDPOINT: 32, ALONE: 1, EIGHT: CLAIMERS, JOINED: 32, BATCHES: CLAIMERS}


def measure(rig: Rig, side: str) -> Measured:
    """Let all robots of a side claim as often each."""
    robots = _ROBOTS[side]
    each = rig.sized(64, 512, 4_096) // robots
    if side == ENDPOINT:
        with bare_endpoint(rig) as calls:
            return _measured(calls, robots, each, None)
    count = 20 if side == BATCHES else 1
    with item_ledger() as ledger:
        ledger.fill(robots * count * (each + 1) + 100)
        with served(rig, ledger.url) as calls:
            return _measured(calls, robots, each, count)


def _measured(calls: Calls, robots: int, each: int, count: int | None) -> Measured:
    """Let so many robots send so many requests each, after one that connects."""
    ready = list[tuple[Robot, bytes]]()
    for number in range(robots):
        robot = Robot(calls, number)
        request = robot.request("GET", SHOWN)
        if count is not None:
            request = robot.wanting(QUEUE, count=count)
        robot.ask(request)
        ready.append((robot, request))

    def work(number: int) -> None:
        robot, request = ready[number]
        with closing(robot):
            for _ in range(each):
                answer = robot.ask(request)
                if count is not None and len(answer["items"]) != count:
                    raise RuntimeError("there are too few items")

    module = "benchmarks.apps.bare_api" if count is None else API
    used_before = used_seconds(module)
    seconds, requests = seconds_of(work, robots), robots * each
    used = used_seconds(module) - used_before
    return {"items": requests * (count or 1) / seconds, "CPU of a request": used / requests * 1000}


QUESTION = Question(
    name="items_api",
    asks="How many items a second does one API process hand out?",
    sides=(ENDPOINT, ALONE, EIGHT, JOINED, BATCHES),
    figures=(Figure("items", "1/s"), Figure("CPU of a request", "ms")),
    measure=measure,
    targets=(
        Target(EIGHT, "items", at_least=600),
        Target(JOINED, "items", at_least=1_500),
        Target(BATCHES, "items", at_least=8_000),
    ),
)
