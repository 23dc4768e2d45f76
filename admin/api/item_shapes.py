"""Makes answers of queues and items."""

from typing import Any

from ...items.json_texts import value_of
from ...items.model import Item, Queue
from ...items.notifying.address import shown_address
from ...items.statistics import Figures
from ...items.store import now_of
from ...scheduler.model.times import iso_of
from ..answers.items import ClaimedItem, ItemAnswer, ItemRow, ItemStats, QueueAnswer
from ..services import Services
from .moments import shown_at


def shown_now(services: Services) -> str:
    """Return the database's time, by which an answer says when it was true."""
    return shown_at(services.items.store.read(now_of))


def queue_answer(queue: Queue, *, tells_all: bool) -> QueueAnswer:
    """Return a queue's answer; without `tells_all`, of the address not its path."""
    return QueueAnswer(
        id=queue.queue_id,
        external_id=queue.external_id,
        name=queue.name,
        description=queue.description,
        max_retries=queue.max_retries,
        enforce_unique_reference=queue.enforce_unique_reference,
        is_active=queue.is_active,
        payload_schema=queue.payload_schema,
        lease_seconds=queue.lease_seconds,
        retry_seconds=queue.retry_seconds,
        notify_url=queue.notify_url if tells_all else shown_address(queue.notify_url),
        revision=queue.revision,
        created_at=shown_at(queue.created_ms),
        updated_at=shown_at(queue.updated_ms),
    )


def stats_answer(queue: Queue, figures: Figures, as_of_ms: int) -> ItemStats:
    """Return the answer that counts a queue's items."""
    return ItemStats(
        id=queue.queue_id,
        name=queue.name,
        counts={status.value: count for status, count in figures.counts.items()},
        appExceptions=figures.application_failures,
        bizExceptions=figures.business_failures,
        average_processing_seconds=figures.average_processing_seconds,
        oldest_new_at=iso_of(figures.oldest_new_ms),
        ended_last_hour=figures.ended_last_hour,
        source="ledger",
        as_of=shown_at(as_of_ms),
    )


def item_row(item: Item) -> ItemRow:
    """Return an item's answer without payload and result."""
    return ItemRow(**_fields(item))


def item_answer(item: Item, *, withheld: bool) -> ItemAnswer:
    """Return an item's answer; `withheld`, without payload and result."""
    shown: dict[str, Any] = {}
    if not withheld:
        shown = {"payload": value_of(item.payload), "result": value_of(item.result)}
    return ItemAnswer(**_fields(item), **shown, withheld=withheld)


def claimed_item(item: Item) -> ClaimedItem:
    """Return an item's answer to the robot that holds it."""
    locked_ms, until_ms = item.locked_at_ms or 0, item.locked_until_ms
    return ClaimedItem(
        id=item.item_id,
        queue_id=item.queue_id,
        reference=item.reference,
        priority=item.priority,
        payload=value_of(item.payload),
        deadline_at=iso_of(item.deadline_ms),
        retries=item.retries,
        abandoned=item.abandoned,
        fence=item.fence,
        locked_by_robot_id=item.locked_by_robot_id or "",
        locked_at=shown_at(locked_ms),
        locked_until=iso_of(until_ms),
        lease_seconds=0 if until_ms is None else (until_ms - locked_ms) / 1000,
    )


def _fields(item: Item) -> dict[str, Any]:
    return {
        "id": item.item_id,
        "queue_id": item.queue_id,
        "reference": item.reference,
        "status": item.status,
        "priority": item.priority,
        "deadline_at": iso_of(item.deadline_ms),
        "error_message": item.error_message,
        "failure": item.failure,
        "progress": item.progress,
        "retries": item.retries,
        "abandoned": item.abandoned,
        "locked_by_robot_id": item.locked_by_robot_id,
        "locked_at": iso_of(item.locked_at_ms),
        "locked_until": iso_of(item.locked_until_ms),
        "fence": item.fence,
        "job_id": item.job_id,
        "available_at": iso_of(item.available_ms),
        "revision": item.revision,
        "created_at": shown_at(item.created_ms),
        "created_by": item.created_by,
        "updated_at": shown_at(item.updated_ms),
        "ended_at": iso_of(item.ended_ms),
    }
