"""What a dead letter of a body that raised keeps as long as itself: the exception and traceback of its last try."""

import dramatiq
import redis
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.cli.failures import read_failure
from bandmaster.scheduler.engine.record import read_result
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, wait_until


def test_the_last_try_is_told_not_the_one_before(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    tries: list[int] = []

    @dramatiq.actor(band="HIGH", max_retries=1, min_backoff=1, max_backoff=2)
    def work(month: str) -> None:
        tries.append(1)
        raise ValueError(f"try {len(tries)} at redis://u:hunter2@h/0\nand more")

    sent = work.send("2026-11")
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    failure = read_failure(queue, sent.message_id)
    assert failure is not None
    assert (failure.actor, failure.arguments) == ("work", "'2026-11'")
    assert failure.exception == "ValueError: try 2 at redis://u:***@h/0"
    assert failure.traceback is not None
    assert "in work" in failure.traceback
    assert "hunter2" not in str(failure)
    assert read_result(queue.views, sent.message_id) is None, "it is no result"


def test_what_is_never_tried_again_is_told_too(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    @dramatiq.actor(band="HIGH", throws=KeyError)
    def work() -> None:
        raise KeyError("x" * 10_000)

    sent = work.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    failure = read_failure(queue, sent.message_id)
    assert failure is not None
    assert failure.exception is not None
    assert failure.exception.startswith("KeyError: 'xxx")
    kept = queue.views.result(sent.message_id)
    assert kept is not None
    assert len(kept) < 6_000


def test_it_is_kept_as_long_as_the_letter(
    broker: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    @dramatiq.actor(band="HIGH", max_retries=0)
    def work() -> None:
        raise ValueError

    sent = work.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert queue.views.dead() == [sent.message_id]
    ttls = {int(redis_client.ttl(f"exec_queue:{kind}:{sent.message_id}")) for kind in ("result", "message", "meta")}  # type: ignore[arg-type]
    assert all(abs(ttl - 7 * 86_400) < 60 for ttl in ttls)


def test_letters_are_kept_as_long_as_the_broker_is_told(redis_url: str, queue: ExecutionQueueService) -> None:
    broker = BandedRedisBroker(client=client_of(redis_url), dead_message_ttl=3_600_000)

    @dramatiq.actor(broker=broker, band="HIGH")
    def work() -> None: ...

    def kept_seconds() -> float | None:
        return queue.views.status().settings["dead_message_ttl_seconds"]

    with running(broker):
        wait_until(lambda: kept_seconds() == 3_600, what="the setting")
    queue.controls.change_setting("dead_message_ttl_seconds", 7_200)
    with running(broker):
        assert kept_seconds() == 7_200, "an operator's word stays"
    broker.close()
