"""Asynchronous exceptions in threads that settle: whatever they strike, no settlement, grant or permit is lost."""

import random
import time
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import Message
from exchanging import Exchanged, Interrupted
from model.dump import read_dump
from model.invariants import Invariants, left_behind

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.middleware.grants.asked import Asking
from bandmaster.middleware.grants.permits import LANES
from bandmaster.middleware.grants.table import GrantedMessage
from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.priority import Priority
from waiting import wait_until

# A connection that a thread had in its hand when the exception struck is closed with it.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("threads_alternate"),
]

THREADS = 8
HITS = 1_000
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
        deadline = time.monotonic() + 600
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
    assert work.permits.free == work.permits.total == THREADS
    assert work.most_behind <= THREADS
    dump = read_dump(redis_client, queue.scripts.keys)
    Invariants().check(dump, one_step=False)
    assert not left_behind(dump)


@pytest.mark.parametrize("has_begun", [True, False])
def test_what_was_being_started_when_an_exception_struck_is_started_once(
    has_begun: bool, broker: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    @dramatiq.actor(broker=broker, band="HIGH")
    def work_on() -> None: ...

    (sent,) = parked(queue, [work_on.message()])
    work = Exchanged(broker, redis_client, ("default",), 2)

    def strike_once(message: GrantedMessage) -> None:
        work.after_start = lambda _: None
        if has_begun:  # its thread was quick
            assert work.held.begin(message.entry)
        raise Interrupted

    work.after_start = strike_once
    asking = Asking(lambda: work.lanes, work.permits.take(LANES, 2, 0, in_hand=True))
    with pytest.raises(Interrupted):
        work.exchange.ask(asking)
    assert work.exchange.ask(asking).started == 1
    messages = work.taken()
    begun = [(has_begun and message is messages[0]) or work.held.begin(message.entry) for message in messages]
    assert begun == ([True] if has_begun else [False, True]), "of two, the first was replaced"
    assert [entry.grant.execution_id for entry in work.held.all()] == [sent]
    work.exchange.tend()
    assert (work.permits.free, work.permits.held(LANES)) == (1, 1)
