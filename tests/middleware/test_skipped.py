"""Middleware is let know of what ended without a body, by the hooks of a message that `AgeLimit` skips in Dramatiq.

So whoever keeps a row for each message, or counts them, is right for gated actors as for others. On real workers.
"""

from collections.abc import Callable
from typing import Any

import dramatiq
import pytest
from dramatiq.middleware import Middleware
from logged import context_of
from told import is_told
from working import plain_redis_broker, running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.engine.outbox import UntoldEnd
from bandmaster.scheduler.model.errors import QueueUnavailable
from waiting import GENEROUS_MS, wait_until

Note = tuple[str, str, bool]
SKIPPED: list[tuple[str, bool]] = [("after_skip_message", True), ("after_nack", True)]


class Rows(Middleware):
    """Keeps what happens to each message: the hook, the message's id, whether it has failed."""

    def __init__(self) -> None:
        self.notes: list[Note] = []

    def before_process_message(self, broker: Any, message: Any) -> None:
        self.note("before_process_message", message)

    def after_process_message(self, broker: Any, message: Any, *, result: Any = None, exception: Any = None) -> None:
        self.note("after_process_message", message)

    def after_skip_message(self, broker: Any, message: Any) -> None:
        self.note("after_skip_message", message)

    def after_nack(self, broker: Any, message: Any) -> None:
        self.note("after_nack", message)

    def note(self, hook: str, message: Any) -> None:
        self.notes.append((hook, message.message_id, message.failed))

    def of(self, sent: "dramatiq.Message[Any]") -> list[tuple[str, bool]]:
        return [(hook, failed) for hook, message_id, failed in self.notes if message_id == sent.message_id]


class Gauge(Rows):
    """Counts what is in progress: up before a body, down after it and after a skip, as Prometheus's middleware."""

    def __init__(self) -> None:
        super().__init__()
        self.in_progress = 0

    def before_process_message(self, broker: Any, message: Any) -> None:
        super().before_process_message(broker, message)
        self.in_progress += 1

    def after_process_message(self, broker: Any, message: Any, *, result: Any = None, exception: Any = None) -> None:
        self.in_progress -= 1

    after_skip_message = after_process_message  # pyright: ignore[reportAssignmentType]


class Broken(Middleware):
    """Fails in each hook that tells of a skip."""

    def after_skip_message(self, broker: Any, message: Any) -> None:
        raise ValueError

    def after_nack(self, broker: Any, message: Any) -> None:
        raise ValueError


@pytest.fixture
def rows(broker: BandedRedisBroker) -> Rows:
    """Among the broker's middleware, after those of Dramatiq."""
    rows = Rows()
    broker.add_middleware(rows)
    return rows


def expire(queue: ExecutionQueueService, _sent: "dramatiq.Message[Any]") -> None:
    wait_until(lambda: queue.maintenance.sweep() or not queue.views.pending(), what="it expires")


def cancel(queue: ExecutionQueueService, sent: "dramatiq.Message[Any]") -> None:
    queue.cancel(sent.message_id)


@pytest.mark.parametrize("end", [expire, cancel])
def test_a_gated_message_that_never_ran_is_skipped_as_an_ungated_one_is(
    end: Callable[[ExecutionQueueService, Any], None],
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    rows: Rows,
) -> None:
    @dramatiq.actor(band="HIGH")
    def gated() -> None: ...

    @dramatiq.actor
    def ungated() -> None: ...

    sent, aged = (actor.send_with_options(max_age=1) for actor in (gated, ungated))
    end(queue, sent)
    with running(broker):
        wait_until(lambda: is_told(queue, sent), what="its end is told")
        broker.join("default", timeout=GENEROUS_MS)
    assert rows.of(sent) == SKIPPED
    assert rows.of(aged) == SKIPPED


def test_what_counts_down_at_a_skip_counts_up_before(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    gauge = Gauge()
    broker.add_middleware(gauge)

    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    sent = work.send()
    queue.cancel(sent.message_id)
    with running(broker):
        wait_until(lambda: is_told(queue, sent), what="its end is told")
    assert gauge.of(sent) == [("before_process_message", True), ("after_nack", True)]
    assert gauge.in_progress == 0


def test_a_middleware_that_fails_stops_no_other(
    broker: BandedRedisBroker, queue: ExecutionQueueService, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    broker.add_middleware(Broken())  # its after-hooks come before those of `rows`

    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    sent = work.send()
    queue.cancel(sent.message_id)
    with running(broker):
        wait_until(lambda: is_told(queue, sent), what="its end is told")
    assert rows.of(sent) == SKIPPED
    said = context_of(caplog, "hook_failed")
    assert (said["hook"], said["middleware"], said["message_id"]) == ("after_nack", "Broken", sent.message_id)


def test_an_end_that_a_living_process_tells_again_is_skipped_once(
    broker: BandedRedisBroker, queue: ExecutionQueueService, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    refused: list[UntoldEnd] = []

    def refuses_once(end: UntoldEnd, *, dead: bool = False) -> bool:
        if not refused:
            refused.append(end)
            raise QueueUnavailable("it is away")
        return real(end, dead=dead)

    outbox: Any = broker.process._telling._outbox  # pyright: ignore[reportPrivateUsage]
    real = outbox.tell
    monkeypatch.setattr(outbox, "tell", refuses_once)
    monkeypatch.setattr(broker.process._telling, "_taken_ms", 1)  # pyright: ignore[reportPrivateUsage]
    sent = work.send()
    queue.cancel(sent.message_id)
    with running(broker):
        wait_until(lambda: is_told(queue, sent), what="its end is told")
    assert refused
    assert rows.of(sent) == SKIPPED


def test_on_a_plain_broker_it_is_skipped_too(redis_url: str, queue: ExecutionQueueService, redis_client: Any) -> None:
    broker, rows = plain_redis_broker(redis_url), Rows()
    broker.add_middleware(rows)
    dramatiq.set_broker(broker)
    broker.emit_after("process_boot")

    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    # Beside the broker's own list, so that no hint of it is skipped as well.
    sent = work.send()
    redis_client.delete("dramatiq:default", "dramatiq:default.msgs")
    queue.cancel(sent.message_id)
    with running(broker):
        wait_until(lambda: is_told(queue, sent), what="its end is told")
    assert rows.of(sent) == SKIPPED
    broker.close()
