"""F11: connections are refused for a while. F12: a black hole. F13: replies are slow and some are lost.

The calls end in a bounded time, take effect at most once, and the same objects work when the network is back.
"""

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from defects.contrast import event
from history import History
from proxy import Loss, Proxy
from redis.backoff import NoBackoff
from redis.retry import Retry

from bandmaster.scheduler.model.errors import DuplicateExecution, QueueUnavailable
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.scripts import REPEAT_PAUSES_SECONDS
from waiting import GENEROUS_SECONDS

pytestmark = pytest.mark.slow

TRIES = len(REPEAT_PAUSES_SECONDS) + 1
MAX_ACTIVE = 3
PATIENCE_SECONDS = 1.0
"""For a reply that is lost without a word: each try takes that long."""


def test_f12_a_black_hole_costs_a_bounded_time_and_the_same_client_works_afterwards(
    redis_client: redis.Redis, far_client: redis.Redis, proxy: Proxy
) -> None:
    far, near = ExecutionQueueService(far_client), ExecutionQueueService(redis_client)
    far.enqueue(event("before"))
    proxy.swallows = True
    began = time.monotonic()
    with pytest.raises(QueueUnavailable):
        far.enqueue(event("during"))
    assert time.monotonic() - began < GENEROUS_SECONDS
    proxy.swallows = False
    proxy.break_connections()
    assert far.enqueue(event("during")) == 1
    assert near.get_queue_status() == {"queue_depth": 2, "active_count": 0}


def test_f12_a_reply_that_never_comes_leaves_one_effect_however_the_caller_goes_on(
    redis_client: redis.Redis, proxy: Proxy
) -> None:
    near = ExecutionQueueService(redis_client)
    near.enqueue(event("first"))
    # Not the far client: its time might be over before the server has answered, and that try would lose no reply.
    with redis.Redis.from_url(proxy.url, socket_timeout=PATIENCE_SECONDS, retry=Retry(NoBackoff(), 0)) as patient:
        far = ExecutionQueueService(patient, deadline_seconds=GENEROUS_SECONDS)
        proxy.lose_reply(lambda command: command[0] == b"FCALL", Loss.SILENT)
        with pytest.raises(QueueUnavailable):
            far.enqueue(event("second"))
        assert proxy.lost == TRIES, "every try took effect, or found that an earlier one had"
        assert near.get_queue_status() == {"queue_depth": 2, "active_count": 0}
        proxy.lose_reply(lambda _: False)
        # `enqueue` does not know whether it was accepted. The caller sends it again, and learns that it was.
        with pytest.raises(DuplicateExecution):
            far.enqueue(event("second"))


def test_f11_refused_connections_are_tried_again(
    redis_client: redis.Redis, far_client: redis.Redis, proxy: Proxy
) -> None:
    far = ExecutionQueueService(far_client)
    proxy.refuses = True
    proxy.break_connections()
    back = threading.Timer(
        REPEAT_PAUSES_SECONDS[0] + REPEAT_PAUSES_SECONDS[1], lambda: setattr(proxy, "refuses", False)
    )
    back.start()
    assert far.enqueue(event("x")) == 0
    back.join()
    proxy.refuses = True
    proxy.break_connections()
    with pytest.raises(QueueUnavailable):
        far.enqueue(event("y"))
    proxy.refuses = False
    assert far.enqueue(event("y")) == 1


def test_f13_a_slow_and_lossy_network_never_passes_a_limit(
    redis_client: redis.Redis, far_client: redis.Redis, proxy: Proxy
) -> None:
    near = ExecutionQueueService(redis_client)
    near.controls.change_setting("max_concurrent_executions", MAX_ACTIVE)
    near.controls.set_limit("gpu", 1)
    near.enqueue_many([event(f"e{number}", gates=["gpu"] if number % 3 else []) for number in range(60)])
    near.release("unknown")  # the script is known to the server
    proxy.delay_seconds = 0.002
    draw = random.Random(13)
    proxy.lose_reply(lambda command: command[0] == b"FCALL" and draw.random() < 0.05)

    def work() -> None:
        far = ExecutionQueueService(far_client)
        while near.views.lane_size(near.lane):
            started = far.try_schedule()
            if started is not None:
                far.release(started[0], 1, State.COMPLETED)

    with ThreadPoolExecutor(6) as threads:
        for thread in [threads.submit(work) for _ in range(6)]:
            thread.result()
    assert proxy.lost > 0
    history = History(MAX_ACTIVE, {"gpu": 1}).read(near.journal.entries())
    assert sorted(history.grants) == sorted((f"e{number}", 1) for number in range(60))
    assert history.living() == []


def test_f11_every_read_says_that_the_server_is_away(far_client: redis.Redis, proxy: Proxy) -> None:
    far = ExecutionQueueService(far_client)
    views = far.views
    proxy.refuses = True
    proxy.break_connections()
    reads: list[Callable[[], object]] = [
        views.status,
        lambda: views.explain("x"),
        lambda: views.action_statistics("pod"),
        lambda: views.meta("x"),
        lambda: views.metas(["x"]),
        lambda: views.result("x"),
        lambda: views.event("x"),
        lambda: views.message("x"),
        views.pending,
        views.scheduled,
        views.active,
        views.dead,
        lambda: views.pod_leases(),
        lambda: views.members("executions"),
        lambda: views.lane_size("executions"),
        lambda: views.asked_ms_ago("executions"),
        views.leader,
        lambda: views.held(["user:ann"]),
        views.server_time_ms,
        lambda: list(far.journal.entries()),
        lambda: far.journal.of("x"),
    ]
    for read in reads:
        with pytest.raises(QueueUnavailable, match="did not answer"):
            read()
