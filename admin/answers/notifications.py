"""Documents about notifications that their receivers have not taken."""

from .document import Answer, Read


class NotificationRow(Answer):
    """A notification that waits, or was given up."""

    id: str
    """The header `webhook-id` of each attempt."""
    subject: str
    """`queue` or `trigger`: whose address is told."""
    name: str
    event: str
    item_id: str | None
    created_at: str
    attempts: int
    again_at: str | None
    """When the next attempt is made; none: it was given up."""
    failed_at: str | None
    """When it was given up."""
    last_problem: str | None
    """Why the last attempt failed."""


class NotificationList(Read):
    """What receivers have not taken."""

    waiting: int
    """How many wait."""
    failed: int
    """How many were given up, in the last 30 days."""
    notifications: list[NotificationRow]
    """The latest 200 of them, the latest first."""
