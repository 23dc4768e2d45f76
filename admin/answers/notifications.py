"""Documents about notifications, and how their delivery stands."""

from .document import Answer, Read


class NotificationRow(Answer):
    """A notification."""

    id: str
    """The header `webhook-id` of each attempt."""
    subject: str
    """`queue` or `trigger`: whose address is told."""
    name: str
    event: str
    state: str
    """`waiting`, `sent`: its receiver took it; or `failed`: it was given up."""
    item_id: str | None
    created_at: str
    attempts: int
    again_at: str | None
    """When the next attempt is made; none: there is none."""
    sent_at: str | None
    """When its receiver took it."""
    failed_at: str | None
    """When it was given up."""
    last_problem: str | None
    """Why the last attempt failed."""
    last_status: int | None
    """What its receiver answered with last."""


class NotificationList(Read):
    """What receivers have not taken, without tests."""

    waiting: int
    """How many wait."""
    failed: int
    """How many were given up, in the last 30 days."""
    notifications: list[NotificationRow]
    """The latest 200 of them, the latest first."""
