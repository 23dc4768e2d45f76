"""Whoever sent what ended without a body is told: `get_result` raises, `on_failure` runs, the log says it.

On real workers: those of the lane tell, whoever made it end; without one the end waits for it.
"""

from collections.abc import Callable
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import Middleware
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend
from logged import context_of
from told import is_told, raised
from working import plain_redis_broker, running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.engine.outbox import UntoldEnd
from bandmaster.scheduler.model.errors import InvalidRequest
from waiting import GENEROUS_MS, wait_until


def expire(queue: ExecutionQueueService, _sent: "dramatiq.Message[Any]") -> None:
    queue.controls.change_setting("stale_timeout_seconds", 1, lane="default")
    wait_until(queue.maintenance.sweep, what="the sweep")
    queue.controls.change_setting("stale_timeout_seconds", None, lane="default")


def cancel(queue: ExecutionQueueService, sent: "dramatiq.Message[Any]") -> None:
    queue.cancel(sent.message_id)


def remove(queue: ExecutionQueueService, sent: "dramatiq.Message[Any]") -> None:
    queue.remove(sent.message_id)


@pytest.mark.parametrize(
    ("end", "error"), [(expire, "ExecutionExpired"), (cancel, "ExecutionCancelled"), (remove, "ExecutionCancelled")]
)
def test_get_result_raises_for_what_ended_while_it_waited(
    end: Callable[[ExecutionQueueService, Any], None],
    error: str,
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    results: RedisBackend,
) -> None:
    @dramatiq.actor(band="HIGH", store_results=True)
    def work() -> int:
        return 1

    sent = work.send()
    end(queue, sent)
    with running(broker):
        kind, said = raised(sent)
    assert kind == error
    assert sent.message_id in said


def test_what_is_cancelled_before_it_is_due_is_told_to_an_idle_worker(
    broker: BandedRedisBroker, queue: ExecutionQueueService, results: RedisBackend
) -> None:
    @dramatiq.actor(band="HIGH", store_results=True)
    def work() -> None: ...

    with running(broker):
        sent = work.send_with_options(delay=3_600_000)
        queue.cancel(sent.message_id)
        assert raised(sent)[0] == "ExecutionCancelled"


def test_a_pipelines_step_that_is_refused_in_a_hook_raises_for_who_waits(
    broker: BandedRedisBroker, results: RedisBackend
) -> None:
    @dramatiq.actor(band="HIGH")
    def first() -> dict[str, str]:
        return {"no": "tenant"}

    @dramatiq.actor(band="HIGH", gates=["tenant:{tenant}"], store_results=True)
    def second(tenant: str) -> None: ...

    pipe = first.message() | second.message_with_options()
    with running(broker):
        pipe.run()
        kind, text = raised(pipe.messages[-1])
        assert kind == "ExecutionFailed"
        # A hook sends each time under an id of its own, which begins with the message's.
        assert text.startswith(f"execution '{pipe.messages[-1].message_id}.")
        assert "was given up without a result: invalid (InvalidRequest: gates: " in text


@pytest.mark.parametrize("gated", [False, True])
def test_on_failure_is_called_once_with_the_message_and_the_error(
    gated: bool, broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    called: list[tuple[str, str]] = []

    options: dict[str, Any] = {"band": "HIGH"} if gated else {}

    @dramatiq.actor(actor_name="failed", **options)
    def failed(message: dict[str, Any], error: dict[str, str]) -> None:
        called.append((message["message_id"], error["type"]))

    @dramatiq.actor(band="HIGH", on_failure="failed")
    def work() -> None: ...

    sent = work.send()
    queue.cancel(sent.message_id)
    with running(broker):
        wait_until(lambda: called, what="the callback")
        wait_until(lambda: not queue.outbox.collect("default", 1, taken_ms=0), what="its end is told")
        broker.join("default", timeout=GENEROUS_MS)
    assert called == [(sent.message_id, "ExecutionCancelled")]


def test_the_callback_of_an_end_that_is_told_twice_has_the_same_id(
    broker: BandedRedisBroker, queue: ExecutionQueueService, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []

    class Noting(Middleware):
        def before_process_message(self, broker: Any, message: Any) -> None:
            if message.actor_name == "failed":
                ids.append(message.message_id)

    broker.add_middleware(Noting())

    @dramatiq.actor
    def failed(message: dict[str, Any], error: dict[str, str]) -> None: ...

    @dramatiq.actor(band="HIGH", on_failure="failed")
    def work() -> None: ...

    told: list[UntoldEnd] = []

    def forgets_once(end: UntoldEnd, *, dead: bool = False) -> bool:
        told.append(end)
        return len(told) > 1 and real(end, dead=dead)

    # As if the process had died between the callback and the deletion, and the while was over.
    outbox: Any = broker.process._telling._outbox  # pyright: ignore[reportPrivateUsage]
    real = outbox.tell
    monkeypatch.setattr(outbox, "tell", forgets_once)
    monkeypatch.setattr(broker.process._telling, "_taken_ms", 1)  # pyright: ignore[reportPrivateUsage]
    sent = work.send()
    queue.cancel(sent.message_id)
    with running(broker):
        wait_until(lambda: len(ids) == 2, what="both callbacks")
    assert ids[0] == ids[1]
    assert ids[0] != sent.message_id


def test_an_actor_says_whether_what_never_ran_is_a_dead_letter(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    @dramatiq.actor(band="HIGH", keep_unrun=True)
    def kept() -> None: ...

    @dramatiq.actor(band="HIGH")
    def forgotten() -> None: ...

    sent = [kept.send(), forgotten.send()]
    for each in sent:
        queue.cancel(each.message_id)
    with running(broker):
        wait_until(lambda: all(is_told(queue, each) for each in sent), what="both are told")
    assert queue.views.dead() == [sent[0].message_id]
    assert queue.views.message(sent[0].message_id) is not None


def test_the_log_warns_of_each(
    broker: BandedRedisBroker, queue: ExecutionQueueService, caplog: pytest.LogCaptureFixture
) -> None:
    @dramatiq.actor(band="HIGH")
    def work(secret: str) -> None: ...

    sent = work.send("a secret")
    queue.cancel(sent.message_id)
    with running(broker):
        wait_until(lambda: is_told(queue, sent), what="its end is told")
    said = context_of(caplog, "ended_without_result")
    assert (said["execution_id"], said["actor"], said["state"]) == (sent.message_id, "work", "CANCELLED")
    assert [record.levelname for record in caplog.records if "ended_without_result" in record.message] == ["WARNING"]


def test_only_yes_or_no_says_so(broker: BandedRedisBroker) -> None:
    with pytest.raises(InvalidRequest, match="keep_unrun: 'yes' is neither yes nor no; allowed: True or False"):

        @dramatiq.actor(band="HIGH", keep_unrun="yes")
        def work() -> None: ...


def test_on_a_plain_broker_the_same_is_told(redis_url: str, queue: ExecutionQueueService) -> None:
    broker: RedisBroker = plain_redis_broker(redis_url)
    dramatiq.set_broker(broker)
    broker.add_middleware(Results(backend=RedisBackend(client=redis.Redis.from_url(redis_url))))
    broker.emit_after("process_boot")

    @dramatiq.actor(band="HIGH", store_results=True)
    def work() -> None: ...

    sent = work.send()
    queue.cancel(sent.message_id)
    with running(broker):
        assert raised(sent)[0] == "ExecutionCancelled"
    broker.close()


def test_a_flushed_queue_tells_nobody(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    ended, waits = work.send(), work.send()
    queue.cancel(ended.message_id)
    broker.flush("default")
    assert queue.views.meta(waits.message_id)["state"] == "CANCELLED"
    assert queue.outbox.collect("default", 10, taken_ms=0) == []
