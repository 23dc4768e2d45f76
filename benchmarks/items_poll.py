"""Measures how soon an item that is added reaches a robot that waits for it by a long poll, of one API process.

One item is added at a time, over a connection of its own, and the next one when the robot that got it waits again. An
item has arrived when whoever added it is told so; `with adding` begins when that request is sent. One thread holds all
connections: what it notices late, it notices late of all.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from selectors import EVENT_READ, DefaultSelector
from typing import Final

from .api_calls import API, Calls, served, used_seconds
from .item_ledger import QUEUE, item_ledger
from .order import percentile
from .question import Figure, Measured, Question, Target
from .rig import Rig
from .robots import Robot

ONE: Final = "1 robot waits"
MANY: Final = "500 robots wait"
_WAIT_SECONDS: Final = 30
_PAUSE_SECONDS: Final = 0.02
"""After each arrival, for the robot to wait again: nobody is told when a long poll begins."""


class Waiting:
    """Robots that wait, and somebody who adds."""

    def __init__(self, calls: Calls, count: int) -> None:
        """Have so many robots wait; they do so when this returns."""
        self._adding = Robot(calls, count)
        self._request = self._adding.request(
            "POST", "/api/v1/queue-items/add", {"queue_name": QUEUE, "payload": {"invoice": 17}}
        )
        self._selector = DefaultSelector()
        self._selector.register(self._adding, EVENT_READ)
        self._requests = dict[Robot, bytes]()
        for number in range(count):
            robot = Robot(calls, number)
            self._requests[robot] = robot.wanting(QUEUE, wait_seconds=_WAIT_SECONDS)
            self._selector.register(robot, EVENT_READ)
            robot.send(self._requests[robot])
        # It is served after all that were sent before.
        self._adding.ask(self._adding.wanting(QUEUE))

    def arrival_seconds(self) -> tuple[float, float]:
        """Add an item: how long it takes to a robot, from its arrival and from the beginning of its request.

        Raises:
            RuntimeError: If the API refuses something.
        """
        began = time.perf_counter()
        self._adding.send(self._request)
        added = got = 0.0
        while not added or not got:
            for key, _ in self._selector.select():
                now, robot = time.perf_counter(), key.fileobj
                assert isinstance(robot, Robot)
                answer = robot.answer()
                if robot is self._adding:
                    added = now
                    continue
                got = now if answer["items"] else got
                robot.send(self._requests[robot])
        return max(0.0, got - added), got - began

    def close(self) -> None:
        """Hang up."""
        for robot in (self._adding, *self._requests):
            robot.close()


@contextmanager
def _waiting(calls: Calls, count: int) -> Generator[Waiting]:
    waiting = Waiting(calls, count)
    try:
        yield waiting
    finally:
        waiting.close()


def measure(rig: Rig, side: str) -> Measured:
    """Let items arrive one by one while all robots wait."""
    count = 1 if side == ONE else rig.sized(20, 100, 500)
    arrivals, with_adding = list[float](), list[float]()
    with item_ledger() as ledger, served(rig, ledger.url) as calls, _waiting(calls, count) as waiting:
        used_before, began = used_seconds(API), time.perf_counter()
        for number in range(rig.sized(5, 50, 300) + 5):
            arrival, whole = waiting.arrival_seconds()
            # The first open connections to the database.
            if number >= 5:
                arrivals.append(arrival * 1000)
                with_adding.append(whole * 1000)
            time.sleep(_PAUSE_SECONDS)
        used = (used_seconds(API) - used_before) / (time.perf_counter() - began)
    return {
        "p50": percentile(arrivals, 50),
        "p99": percentile(arrivals, 99),
        "p50 with adding": percentile(with_adding, 50),
        "CPU": used * 100,
    }


QUESTION = Question(
    name="items_poll",
    asks="How soon does an item that is added reach a robot that waits for it, on one API process?",
    sides=(ONE, MANY),
    figures=(Figure("p50", "ms"), Figure("p99", "ms"), Figure("p50 with adding", "ms"), Figure("CPU", "%")),
    measure=measure,
    targets=(Target(ONE, "p50", at_most=10), Target(MANY, "p50", at_most=10)),
)
