"""A lane at its own bound beside a busy one: nobody asks for it in vain, and it goes on when a slot comes back."""

import threading
import time
from collections import deque

import dramatiq
import pytest
import redis
from counting import calls
from working import only_when_told, running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.states import State
from waiting import wait_until

SLOTS = 10
BACKLOG = 100
JOBS = 200
JOB_SECONDS = 0.01
LONG_MS = 600_000
IDLE_CALLS = 4


def asked(client: redis.Redis) -> int:
    """How many calls of the queue, and waits for its tokens, there were."""
    return calls(client, "fcall", "blpop")


def rest(worker: dramatiq.Worker, client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the worker look once more, and then only when it is told."""
    only_when_told(worker, monkeypatch)
    before = calls(client, "fcall")
    wait_until(lambda: calls(client, "fcall") > before, what="the worker's last look")


def test_a_full_lane_with_a_backlog_costs_a_busy_one_no_calls(
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = queue.on("executions")
    ran: deque[str] = deque()
    began: deque[str] = deque()

    @dramatiq.actor(queue_name="executions", band="CRITICAL", action="pod")
    def waits() -> None:
        began.append("waits")

    @dramatiq.actor(band="LOW")
    def work() -> None:
        time.sleep(JOB_SECONDS)
        ran.append("work")

    held = [Candidate(f"held-{number}", "executions", 0, "pod", message=b"x") for number in range(SLOTS)]
    queue.transitions.park_many(held)
    assert len(full.transitions.admit(("executions",), SLOTS, lease_ms=LONG_MS).grants) == SLOTS
    for _ in range(BACKLOG // 2):
        waits.send()
    with running(broker, threads=2, timeout_ms=1_000) as worker:
        for alone in (True, False):
            broker.send_many([work.message() for _ in range(JOBS)])
            before = asked(redis_client)
            wait_until(lambda: len(ran) == JOBS, what="the busy lane's jobs")
            # A release brings the next job; each second the two lanes are asked for, besides.
            assert asked(redis_client) - before < 1.3 * JOBS, "alone" if alone else "beside what is sent meanwhile"
            ran.clear()
            for _ in range(BACKLOG // 4):
                waits.send()
        before, since = 0, 0.0
        for _ in range(2):  # the first ones may still be of what went before
            before, since = asked(redis_client), time.monotonic()
            wait_until(lambda least=before + IDLE_CALLS: asked(redis_client) >= least, what="some idle calls")
        assert asked(redis_client) - before <= 4 * (time.monotonic() - since), "idle beside a full lane"
        assert not began

        rest(worker, redis_client, monkeypatch)
        full.transitions.release("held-0", 1, State.COMPLETED)
        wait_until(lambda: len(began) == BACKLOG, what="the backlog, through one slot, at once")
        broker.join("default")


def test_a_bound_that_is_raised_starts_what_waits_at_once(
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began = threading.Event()

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        began.set()

    queue.controls.change_setting("max_concurrent_executions", 0)
    work.send()
    with running(broker, threads=1) as worker:
        rest(worker, redis_client, monkeypatch)
        assert not began.is_set()
        queue.controls.change_setting("max_concurrent_executions", 1)
        wait_until(began.is_set, what="the start, at once")
