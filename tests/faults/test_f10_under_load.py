"""F10 under load: each tenth reply to a worker is lost, and each execution runs once, in order, under its limit."""

import itertools
import threading
from collections import Counter
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import Message, Worker
from history import History
from model.dump import read_dump
from model.invariants import Invariants, left_behind
from proxy import Command, Proxy

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.middleware.grants.permits import LANES
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, wait_until

pytestmark = pytest.mark.slow

THREADS = 8
JOBS = 2_000
LIMIT = 3
EACH = 10
LOST_AT_LEAST = 20


def test_f10_each_tenth_reply_is_lost_under_load_and_each_runs_once(redis_client: redis.Redis, proxy: Proxy) -> None:
    broker = BandedRedisBroker(client=client_of(proxy.url))
    ran: Counter[int] = Counter()
    at_once = most_at_once = 0
    counting = threading.Lock()

    @dramatiq.actor(broker=broker, band="HIGH", queue_name="first", gates=["disk"])
    def limited(number: int) -> None:
        nonlocal at_once, most_at_once
        with counting:
            at_once += 1
            most_at_once = max(most_at_once, at_once)
        ran[number] += 1
        with counting:
            at_once -= 1

    @dramatiq.actor(broker=broker, band="LOW", queue_name="second")
    def free(number: int) -> None:
        ran[number] += 1

    queue = ExecutionQueueService(redis_client)
    queue.controls.set_limit("disk", LIMIT)
    messages: list[Message[Any]] = [(limited, free)[number % 2].message(number) for number in range(JOBS)]
    queue.transitions.park_many([candidate(each, number % 2) for number, each in enumerate(messages)])
    numbers = itertools.count(1)

    def is_doomed(_: Command) -> bool:
        return next(numbers) % EACH == 0

    worker = Worker(broker, worker_threads=THREADS, worker_timeout=100)
    worker.start()
    try:
        proxy.lose_reply(is_doomed)
        wait_until(lambda: sum(ran.values()) >= JOBS, timeout_seconds=120, what="all have run")
        for lane in ("first", "second"):
            wait_until(lambda lane=lane: queue.on(lane).views.lane_size(lane) == 0, what="all have ended")
        proxy.lose_reply(lambda _: False)
        permits = broker.process.permits
        wait_until(lambda: permits.held(LANES) == 0 and permits.free == THREADS, what="the permits are back")
    finally:
        worker.stop(timeout=GENEROUS_MS)
        broker.close()
    assert proxy.lost > LOST_AT_LEAST
    assert ran == Counter(range(JOBS)), "each ran once"
    assert most_at_once <= LIMIT
    assert len(broker.gate.held) == 0
    dump = read_dump(redis_client, queue.scripts.keys)
    Invariants().check(dump, one_step=False)
    assert not left_behind(dump)
    history = History(JOBS, queue.controls.limits()).read(queue.journal.entries())
    assert history.executions.keys() == {message.message_id for message in messages}
    assert not history.living()
    assert max(attempt for _, attempt in history.grants) == 1, "nothing was handed back or taken for lost"


def candidate(message: "Message[Any]", band: int) -> Candidate:
    gates = ("disk",) if message.actor_name == "limited" else ()
    return Candidate(
        message.message_id, message.queue_name, band, message.actor_name, gates=gates, message=message.encode()
    )
