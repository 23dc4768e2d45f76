"""Writes what is to be notified, in the transaction in which it happens.

In the flow: whoever lets an item fail for good or be abandoned, or a trigger begin to fail, calls here with its
connection. So there is a notification for each of them, and none of what was rolled back. Its body is made here, once,
so that each delivery of it is the same bytes. No payload and no result is in one, as they leave the house.
"""

import json
from collections.abc import Collection
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Connection, insert, select

from ...ledger.schema.notification_tables import TEST
from ...ledger.schema.tables import item_queues, notifications, queue_items
from ...scheduler.model.identifiers import new_execution_id
from ...scheduler.model.times import iso_of
from ..states import Status
from .subject import Subject

REASON_MAX_CHARS: Final = 500
_TOLD: Final = (Status.FAILED.value, Status.ABANDONED.value)


class Event(StrEnum):
    """What is told."""

    ITEM_FAILED = "item.failed"
    """An item failed for good: because of itself, or its retries are used up."""
    ITEM_ABANDONED = "item.abandoned"
    """Three leases of an item ran out."""
    TRIGGER_FAILING = "trigger.failing"
    """A trigger began to fail; nothing more is told until it has succeeded or was changed."""
    TEST = TEST
    """Somebody tries the address."""


def note_items(connection: Connection, item_ids: Collection[str], at_ms: int) -> int:
    """Write notifications of those items that have failed or are abandoned, if their queue has an address.

    Args:
        connection: Of the transaction that ended them.
        item_ids: Items that it changed.
        at_ms: The database's time.

    Returns:
        How many were written.
    """
    of, queue = queue_items.c, item_queues.c
    found = select(
        *(of.item_id, of.queue_id, of.reference, of.status, of.failure, of.error_message, of.retries),
        *(of.abandoned, of.locked_by_robot_id, of.job_id, of.created_ms, queue.name),
    )
    ended = found.join_from(queue_items, item_queues).where(
        of.item_id.in_(item_ids), of.status.in_(_TOLD), queue.notify_url.is_not(None)
    )
    rows = [_of_item(row, at_ms) for row in connection.execute(ended.order_by(of.item_id))]
    if rows:
        connection.execute(insert(notifications), rows)
    return len(rows)


def note_failing(connection: Connection, trigger_id: int, name: str, problem: str, at_ms: int) -> None:
    """Write that a trigger began to fail.

    Args:
        connection: Of the transaction that notes the failure.
        trigger_id: Which trigger; it has an address.
        name: Its name.
        problem: Why, for people; no payload.
        at_ms: The database's time.
    """
    told = {"trigger": {"id": trigger_id, "name": name, "reason": problem[:REASON_MAX_CHARS]}}
    row = _row(Subject.TRIGGER, trigger_id, name, Event.TRIGGER_FAILING, told, at_ms)
    connection.execute(insert(notifications), [row])


def note_test(connection: Connection, subject: Subject, subject_id: int, name: str, at_ms: int) -> str:
    """Write a notification that tries an address.

    Args:
        connection: Of a transaction that writes.
        subject: Whose address.
        subject_id: Of which queue or trigger; it has an address.
        name: Its name.
        at_ms: The database's time.

    Returns:
        The notification's id.
    """
    row = _row(subject, subject_id, name, Event.TEST, {subject.value: {"id": subject_id, "name": name}}, at_ms)
    # Before whatever waits for the same address.
    connection.execute(insert(notifications), [row | {"again_ms": 0}])
    return str(row["delivery_id"])


def _of_item(row: Any, at_ms: int) -> dict[str, Any]:
    item = {
        "id": row.item_id,
        "reference": row.reference,
        "status": row.status,
        "failure": row.failure,
        "reason": None if row.error_message is None else row.error_message[:REASON_MAX_CHARS],
        "retries": row.retries,
        "abandoned": row.abandoned,
        "robot_id": row.locked_by_robot_id,
        "job_id": row.job_id,
        "created_at": iso_of(row.created_ms),
        "ended_at": iso_of(at_ms),
    }
    event = Event.ITEM_FAILED if row.status == Status.FAILED else Event.ITEM_ABANDONED
    told = {"queue": {"id": row.queue_id, "name": row.name}, "item": item}
    return _row(Subject.QUEUE, row.queue_id, row.name, event, told, at_ms) | {"item_id": row.item_id}


def _row(subject: Subject, subject_id: int, name: str, event: Event, data: Any, at_ms: int) -> dict[str, Any]:
    # The shape that Standard Webhooks recommends.
    body = {"type": event.value, "timestamp": iso_of(at_ms), "data": data}
    return {
        "delivery_id": new_execution_id(),
        "subject": subject.value,
        "subject_id": subject_id,
        "subject_name": name,
        "item_id": None,
        "event": event.value,
        "body": json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        "created_ms": at_ms,
        "attempts": 0,
        "again_ms": at_ms,
    }
