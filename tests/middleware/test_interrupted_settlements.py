"""Asynchronous exceptions in threads that settle: whatever they strike, no settlement, grant or permit is lost."""

import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import Message
from exchanging import Exchanged
from model.dump import read_dump
from model.invariants import Invariants, left_behind

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.grants import Code
from bandmaster.scheduler.priority import Priority
from bandmaster.scheduler.transitions import Candidate
from waiting import wait_until

# A connection that a thread had in its hand when the exception struck is closed with it.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

THREADS = 8
HITS = 1_000
SWITCH_SECONDS = 0.000_05
"""Between looks whether another thread wants to run: short, so that an exception strikes between any two steps."""
AT_ONCE = 200
"""So many more are sent as soon as few wait."""


def parked(queue: ExecutionQueueService, messages: "list[Message[Any]]") -> list[str]:
    """The ids of messages that wait now: sent all at once, since whoever sends one by one interrupts nobody."""
    candidates = [
        Candidate(each.message_id, each.queue_name, int(Priority.HIGH), each.actor_name, message=each.encode())
        for each in messages
    ]
    queue.transitions.park_many(candidates)
    return [each.message_id for each in messages]


def unsaid(unraisable: object) -> None:
    """Nothing is said of it."""


@pytest.fixture(autouse=True)
def _threads_alternate(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    # Python drops what strikes while an object is thrown away, and says so; pytest's hook would be struck as well.
    monkeypatch.setattr(sys, "unraisablehook", unsaid)
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    yield
    sys.setswitchinterval(before)


def test_a_thousand_exceptions_in_leaders_and_waiters_lose_and_gain_nothing(
    broker: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    @dramatiq.actor(broker=broker, band="HIGH", queue_name="a", gates=["disk"])
    def first() -> None: ...

    @dramatiq.actor(broker=broker, band="LOW", queue_name="b")
    def second() -> None: ...

    queue.controls.set_limit("disk", 3)
    draw = random.Random(18)
    work = Exchanged(broker, redis_client, ("a", "b"), THREADS)
    sent: list[str] = []
    with work.running():
        deadline = time.monotonic() + 120
        while work.hits < HITS:
            assert time.monotonic() < deadline, f"{work.hits} of {len(sent)} were interrupted"
            if len(sent) - len(work.runs) < AT_ONCE // 2:
                sent += parked(queue, [draw.choice((first, second)).message() for _ in range(AT_ONCE)])
            work.interrupt(draw)
            time.sleep(draw.random() * 0.001)
        wait_until(lambda: len(work.codes) >= len(sent), what="the end of all")
    work.exchange.tend()
    # A thread that was lost count of for a moment has its grant handed back, so that the next attempt is the one.
    assert sorted(execution_id for execution_id, _ in work.runs) == sorted(sent)
    assert set(work.codes) == {Code.OK}
    assert len(work.held) == 0
    assert work.budget.free == work.budget.total == THREADS
    assert work.most_behind <= THREADS
    dump = read_dump(redis_client, queue.scripts.keys)
    Invariants().check(dump, one_step=False)
    assert not left_behind(dump)
