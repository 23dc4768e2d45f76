"""``Queue`` and ``Item``, as the database has them.

In the flow: rows become these at the border of the database; nothing here asks anything. Times are Unix milliseconds
of the database's clock.
"""

from dataclasses import dataclass
from typing import Any, Final

from .json_texts import value_of
from .states import Failure, Status

NO_DEADLINE_MS: Final = 2**53 - 1
"""In place of a deadline: behind all there can be, so that items without one come last."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue's settings."""

    queue_id: int
    external_id: str
    name: str
    description: str | None
    max_retries: int
    """How often an item is tried again after a failure of the application."""
    enforce_unique_reference: bool
    is_active: bool
    payload_schema: Any
    """A JSON Schema; None: any payload."""
    lease_seconds: int
    """For how long a robot holds an item, unless it says."""
    retry_seconds: int
    """Before the first retry; twice as long before each further one."""
    revision: int
    created_ms: int
    updated_ms: int
    notify_url: str | None = None
    """Who is told of its items that failed for good or are abandoned."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item."""

    item_id: str
    queue_id: int
    reference: str | None
    status: Status
    priority: int
    """Larger is handed out first: the opposite of the bands of executions (D43)."""
    deadline_ms: int | None
    payload: str | None
    """JSON."""
    result: str | None
    """JSON."""
    error_message: str | None
    failure: Failure | None
    progress: str | None
    retries: int
    abandoned: int
    """How many leases of it ran out."""
    locked_by_robot_id: str | None
    """Who holds it, or held it when it ended."""
    locked_at_ms: int | None
    locked_until_ms: int | None
    fence: int
    """Grows each time it is handed out: who has an older one holds it no more."""
    job_id: str | None
    """The execution that works on it; None: a robot does."""
    available_ms: int | None
    """Until when it is postponed."""
    revision: int
    created_ms: int
    created_by: str
    updated_ms: int
    ended_ms: int | None


def queue_of(row: Any) -> Queue:
    """Return the queue of a row."""
    return Queue(
        queue_id=row.queue_id,
        external_id=row.external_id,
        name=row.name,
        description=row.description,
        max_retries=row.max_retries,
        enforce_unique_reference=row.enforce_unique_reference,
        is_active=row.is_active,
        payload_schema=value_of(row.payload_schema),
        lease_seconds=row.lease_seconds,
        retry_seconds=row.retry_seconds,
        revision=row.revision,
        created_ms=row.created_ms,
        updated_ms=row.updated_ms,
        notify_url=row.notify_url,
    )


def item_of(row: Any, **changed: Any) -> Item:
    """Return the item of a row.

    Args:
        row: Of `queue_items`; one without payload and result has none.
        changed: Columns that were written since the row was read.
    """
    of = {**row._mapping, **changed}
    return Item(
        item_id=of["item_id"],
        queue_id=of["queue_id"],
        reference=of["reference"],
        status=Status(of["status"]),
        priority=-of["rank"],
        deadline_ms=None if of["deadline_ms"] == NO_DEADLINE_MS else of["deadline_ms"],
        payload=of.get("payload"),
        result=of.get("result"),
        error_message=of["error_message"],
        failure=None if of["failure"] is None else Failure(of["failure"]),
        progress=of["progress"],
        retries=of["retries"],
        abandoned=of["abandoned"],
        locked_by_robot_id=of["locked_by_robot_id"],
        locked_at_ms=of["locked_at_ms"],
        locked_until_ms=of["locked_until_ms"],
        fence=of["fence"],
        job_id=of["job_id"],
        available_ms=of["available_ms"],
        revision=of["revision"],
        created_ms=of["created_ms"],
        created_by=of["created_by"],
        updated_ms=of["updated_ms"],
        ended_ms=of["ended_ms"],
    )
