"""Documents about queues and their items.

Of `priority`, the larger is handed out first, unlike the bands of executions.
"""

from typing import Any

from pydantic import Field

from .document import Answer, Read


class QueueAnswer(Answer):
    """A queue of items."""

    id: int
    external_id: str
    name: str
    description: str | None
    max_retries: int
    """How often an item is tried again after a failure of the application."""
    enforce_unique_reference: bool
    is_active: bool
    """An inactive one takes and gives nothing."""
    payload_schema: Any
    """A JSON Schema for the payloads of its items; none: any."""
    lease_seconds: int
    """For how long a robot holds an item, unless it says."""
    retry_seconds: int
    """Before the first retry; twice as long before each further one."""
    notify_url: str | None
    """Who is told of its items that failed for good or are abandoned; without its path to whoever is no admin."""
    revision: int
    created_at: str
    updated_at: str


class QueueList(Read):
    """All queues of items, by name."""

    queues: list[QueueAnswer]


class QueueDeleted(Answer):
    """That a queue is gone."""

    name: str
    items: int
    """How many items were deleted with it."""


class ItemStats(Read):
    """Figures of one queue; deleted items are not counted."""

    id: int
    name: str
    counts: dict[str, int]
    """By status."""
    appExceptions: int
    """How many failed for good because something did not work."""
    bizExceptions: int
    """How many failed because they are wrong themselves."""
    average_processing_seconds: float | None
    """From when their last holder got them to their end; of those that are DONE or FAILED."""
    oldest_new_at: str | None
    """When the one was added that has waited longest."""
    ended_last_hour: int
    """How many have ended in the last hour, whatever their end."""


class ItemRow(Answer):
    """An item, without payload and result."""

    id: str
    queue_id: int
    reference: str | None
    status: str
    priority: int
    """The larger is handed out first."""
    deadline_at: str | None
    error_message: str | None
    failure: str | None
    """`application` or `business`."""
    progress: str | None
    retries: int
    abandoned: int
    """How many leases of it ran out."""
    locked_by_robot_id: str | None
    locked_at: str | None
    locked_until: str | None
    fence: int
    job_id: str | None
    available_at: str | None
    """Until when it is postponed."""
    revision: int
    created_at: str
    created_by: str
    updated_at: str
    ended_at: str | None


class ItemAnswer(ItemRow):
    """An item."""

    payload: Any = Field(default=None, repr=False)
    result: Any = Field(default=None, repr=False)
    withheld: bool
    """Whether the caller may not see payload and result: they are left out."""


class ItemPage(Read):
    """Items, the latest first."""

    items: list[ItemRow]
    next: str | None
    """Where the next page begins; none: this is the last."""


class LineRefused(Answer):
    """A line of a file that was not added."""

    line: int
    """From 1."""
    field: str
    problem: str


class UploadAnswer(Answer):
    """What came of a file of items."""

    added: int
    known: int
    """How many of these the same upload had added before."""
    refused: int
    """How many lines are wrong, and were not added."""
    lines: list[LineRefused]
    """The first of these."""


class ExportedItem(Answer):
    """An item of an export; what it has not is left out there."""

    id: str
    status: str
    priority: int
    retries: int
    abandoned: int
    created_at: str
    reference: str | None = None
    payload: Any = Field(default=None, repr=False)
    result: Any = Field(default=None, repr=False)
    failure: str | None = None
    error_message: str | None = None
    progress: str | None = None
    robot_id: str | None = None
    job_id: str | None = None
    deadline_at: str | None = None
    postpone_until: str | None = None
    ended_at: str | None = None


class ClaimedItem(Answer):
    """An item, for the robot that holds it now."""

    id: str
    queue_id: int
    reference: str | None
    priority: int
    payload: Any = Field(default=None, repr=False)
    deadline_at: str | None
    retries: int
    abandoned: int
    fence: int
    """To be sent with its outcome: who has an older one holds it no more."""
    locked_by_robot_id: str
    locked_at: str
    locked_until: str | None
    """By the database's clock; then it is handed out again."""
    lease_seconds: float
    """How long the lease is: to be renewed before."""


class ClaimedItems(Answer):
    """What was handed out; none: nothing waits."""

    items: list[ClaimedItem]
