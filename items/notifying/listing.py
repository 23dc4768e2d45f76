"""What waits for its delivery, what could not be delivered, and what came of one: read for people.

In the flow: the API and the command line show it. Bodies and addresses are not told. A list has no tests: whoever asked
for one is told what came of it.
"""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, func, or_, select, true

from ...ledger.schema.notification_tables import TEST, waits
from ...ledger.schema.tables import notifications
from ..errors import NotificationUnknown
from ..store import Store

MOST_LISTED: Final = 200


@dataclass(frozen=True, slots=True)
class Notification:
    """One, and how its delivery stands."""

    delivery_id: str
    subject: str
    """`queue` or `trigger`."""
    name: str
    """Of the queue or the trigger, then."""
    event: str
    item_id: str | None
    created_ms: int
    attempts: int
    again_ms: int | None
    """When the next attempt is made; None: there is none."""
    sent_ms: int | None
    """When the receiver took it."""
    failed_ms: int | None
    """When it was given up."""
    last_problem: str | None
    last_status: int | None
    """What the receiver answered with last."""

    @property
    def state(self) -> str:
        """`sent`, `failed` or `waiting`."""
        return "sent" if self.sent_ms is not None else "waiting" if self.failed_ms is None else "failed"


@dataclass(frozen=True, slots=True)
class Sought:
    """Which notifications are sought."""

    subject: str | None = None
    """Of `queue` or `trigger`; None: of both."""
    name: str | None = None
    """Of which; None: of all."""
    item_id: str | None = None
    """What tells of this item; None: of whatever."""
    taken: bool = False
    """Whether with those that their receivers took."""


ALL: Final = Sought()


@dataclass(frozen=True, slots=True)
class Undelivered:
    """All of them, at one moment."""

    waiting: int
    failed: int
    latest: list[Notification]
    """The latest `MOST_LISTED` of them, the latest first."""


def undelivered(store: Store, sought: Sought = ALL) -> Undelivered:
    """Return what was not taken, and how much of it there is.

    Args:
        store: The database.
        sought: Which.

    Raises:
        LedgerError: If the database does not answer.
    """
    of = notifications.c
    chosen = [of.event != TEST]
    wanted = ((of.subject, sought.subject), (of.subject_name, sought.name), (of.item_id, sought.item_id))
    chosen += [column == value for column, value in wanted if value is not None]

    def read(connection: Connection) -> Undelivered:
        waiting = connection.execute(select(func.count()).where(waits(), *chosen)).scalar_one()
        failed = connection.execute(select(func.count()).where(of.failed_ms.is_not(None), *chosen)).scalar_one()
        listed = true() if sought.taken else or_(of.sent_ms.is_(None), of.failed_ms.is_not(None))
        found = select(notifications).where(listed, *chosen)
        rows = connection.execute(found.order_by(of.created_ms.desc(), of.delivery_id.desc()).limit(MOST_LISTED))
        return Undelivered(waiting, failed, [_notification_of(row) for row in rows])

    return store.read(read)


def find_notification(store: Store, delivery_id: str) -> Notification:
    """Return a notification, a test or another one.

    Raises:
        NotificationUnknown: If there is none.
        LedgerError: If the database does not answer.
    """
    wanted = select(notifications).where(notifications.c.delivery_id == delivery_id)
    row = store.read(lambda connection: connection.execute(wanted).one_or_none())
    if row is None:
        raise NotificationUnknown(delivery_id)
    return _notification_of(row)


def _notification_of(row: Any) -> Notification:
    is_waiting = row.sent_ms is None and row.failed_ms is None
    return Notification(
        delivery_id=row.delivery_id,
        subject=row.subject,
        name=row.subject_name,
        event=row.event,
        item_id=row.item_id,
        created_ms=row.created_ms,
        attempts=row.attempts,
        again_ms=row.again_ms if is_waiting else None,
        sent_ms=row.sent_ms,
        failed_ms=row.failed_ms,
        last_problem=row.last_problem,
        last_status=row.last_status,
    )
