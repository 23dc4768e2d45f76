"""An application as pyright and mypy --strict check it: right in every line."""

from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

from dramatiq import Message, pipeline

from bandmaster import (
    ActorOptions,
    BandedRedisBroker,
    MessageOptions,
    Priority,
    QueueRejected,
    QueueStats,
    Slots,
    Unique,
    actor,
    get_queue_stats,
    push_task,
    slot,
    task_handler,
)

broker = BandedRedisBroker(url="redis://127.0.0.1:6379")


@actor
def plain(number: int) -> str:
    return str(number)


@actor(band="HIGH", gates=["tenant:{tenant}"], max_retries=3, throws=(ValueError, KeyError), on_failure="plain")
def report(tenant: str, *, month: str = "") -> int:
    return len(tenant + month)


@actor(queue_name="mail", band=Priority.LOW, action="mail.send", time_limit=60_000)
async def mail(to: str) -> None: ...


@actor(band="LOW", unique="digest:{user}")
def digest(user: str) -> None: ...


@actor(band="LOW", unique=Unique(key="index:{user}", until="ended", on_conflict="replace"))
def index(user: str) -> None: ...


digest.send_with_options(args=("ann",), unique={"key": "digest:{user}", "seconds": 60, "on_conflict": "refuse"})
digest.send_with_options(args=("ann",), unique=None)
assert_type(plain.send(1), Message[str])
assert_type(report.send("acme", month="2026-11"), Message[int])
assert_type(mail.send("ann@example.org"), Message[None])
assert_type(report("acme"), int)
report.send_with_options(
    args=("acme",),
    kwargs={"month": "2026-12"},
    delay=timedelta(minutes=1),
    band="CRITICAL",
    user_id="ann",
    gates=("disk",),
    execution_id="report-1",
    scheduled_at=datetime.now(UTC),
    on_success=plain,
)
report.message_with_options(args=("acme",), band=0, scheduled_at="2030-01-01T00:00:00Z", max_retries=None)
pipeline([plain.message(1), plain.message(2)])

shared: MessageOptions = {"band": "LOW", "user_id": 7}
report.send_with_options(args=("acme",), **shared)
every: ActorOptions = {"band": "LOW", "max_retries": 1}


@actor(**every)
def cleanup() -> None: ...


def of_a_middleware_of_ones_own(options: Any) -> None:
    report.send_with_options(args=("acme",), **options)


async def handler(tenants: list[str]) -> None:
    assert_type(await report.asend("acme"), Message[int])
    await report.asend_with_options(args=("acme",), band="HIGH", delay=100)
    results = await broker.asend_many(report.message(tenant) for tenant in tenants)
    assert_type(results, list[Message[Any] | QueueRejected])


def of_no_actor(broker: BandedRedisBroker) -> int:
    with slot("core.http.get", limit=2, timeout=30) as held:
        assert_type(held.is_lost, bool)
    with Slots(broker.queue) as slots, slots.slot("core.http.get"):
        assert_type(get_queue_stats("core.http.get", queue=broker.queue), QueueStats)
        return 1  # a slot swallows no exception, so that nothing need follow


async def of_no_actor_in_a_task() -> str:
    async with slot("core.http.get") as held:
        return held.execution_id


@task_handler("default", max_retries=5, limits={"action:task.default": 2})
def handle(payload: dict[str, Any]) -> int:
    return len(payload)


@task_handler("mail")
async def handle_mail(payload: dict[str, Any]) -> None: ...


assert_type(handle({"task_id": 7}), int)
assert_type(push_task("default", {"task_id": 7}, "high", scheduled_at=datetime.now(UTC)), bool)
assert_type(broker.push_task("default", {"task_id": 7}, priority="low", execution_id="task-7"), bool)
