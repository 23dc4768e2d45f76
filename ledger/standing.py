"""How the ledger stands: whose it is, its schema, who writes it, how far it has come, and what it could not read.

In the flow: ``bandmaster ledger`` shows it; who writes or reads it checks whose it is. Reads only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, func, select

from ..scheduler.engine.journal_following import Position
from ..scheduler.verdicts import UNDELIVERED_SECONDS, LateNotifications
from .database import Database, now_ms
from .errors import AnotherQueue
from .schema.notification_tables import TEST, waits
from .schema.revisions import check, revision_of
from .schema.tables import consumer, executions, gaps, journals, notifications, transitions, triggers
from .unrestored import Unrestored, unrestored

WRITTEN_WITHIN_MS: Final = 30_000
"""A consumer that lives commits each second, if only its lease: one that has not for so long is dead, or hangs. So
is one that did in the future, by a clock that was set back since."""
_NOBODY: Final = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """The ledger at one moment."""

    revision: str
    """Of its tables."""
    holder: str | None
    """The process that consumes the journal, or did last; None: none ever did."""
    renewed_ms_ago: int | None
    """How long ago it last committed, by the database's clock; None: it has ended in order, or none ever did."""
    position: Position | None
    """How far the journal was read."""
    executions: int
    transitions: int
    lost: int
    """Executions that had not ended and that Redis does not know any more."""
    missed: int
    """Entries of the journal that are not in the history: Redis dropped them unread, they are damaged, or the database
    refused them."""
    unrestored: Unrestored | None = None
    """What Redis may lack, or has alive, since it began anew."""

    @property
    def is_written(self) -> bool:
        """Whether somebody writes the history."""
        return self.renewed_ms_ago is not None and abs(self.renewed_ms_ago) <= WRITTEN_WITHIN_MS


@dataclass(frozen=True, slots=True)
class Progress:
    """What of it is asked for often."""

    is_written: bool
    """Whether somebody writes it."""
    position: Position | None
    """How far the journal was read; None: it never was."""
    failing_triggers: Sequence[str] = ()
    """Those that are enabled and whose last firing was not accepted, by name."""
    late_notifications: Sequence[LateNotifications] = ()
    """Queues and triggers of which a notification has waited for long, the longest first."""
    unrestored: Unrestored | None = None
    """What Redis may lack since it began anew."""


def check_queue(connection: Connection, queue: str) -> bool:
    """Refuse the ledger of another queue.

    Args:
        connection: Of a database with the tables of this release.
        queue: The prefix of the queue's keys.

    Returns:
        Whether it is this queue's; False: nobody has written it yet.

    Raises:
        AnotherQueue: If it is another's.
    """
    found = connection.execute(select(consumer.c.queue)).scalar_one_or_none()
    if found not in (None, queue):
        raise AnotherQueue(found, queue)
    return found is not None


def is_written(connection: Connection) -> bool:
    """Whether somebody writes the history; without, it only tells of what was before."""
    renewed = select(func.abs(now_ms() - consumer.c.renewed_ms) <= WRITTEN_WITHIN_MS)
    return bool(connection.execute(renewed).scalar_one_or_none())


def failing_triggers(connection: Connection) -> Sequence[str]:
    """Return the names of the triggers that are enabled and whose last firing was not accepted."""
    failing = select(triggers.c.name).where(triggers.c.enabled, triggers.c.failures > 0)
    return connection.execute(failing.order_by(triggers.c.name)).scalars().all()


def late_notifications(connection: Connection) -> Sequence[LateNotifications]:
    """Return the queues and triggers of which a notification, and no test, has waited for more than
    `UNDELIVERED_SECONDS`, the longest first."""
    of, oldest_ms = notifications.c, func.min(notifications.c.created_ms)
    late = select(of.subject, of.subject_name, now_ms() - oldest_ms).where(
        waits(),
        of.event != TEST,
        of.created_ms < now_ms() - UNDELIVERED_SECONDS * 1000,
    )
    found = connection.execute(late.group_by(of.subject, of.subject_name).order_by(oldest_ms, of.subject_name))
    return [LateNotifications(f"{subject} {name}", waiting_ms) for subject, name, waiting_ms in found]


def read_up_to(connection: Connection) -> Position | None:
    """Return how far the journal was read; None: nothing was."""
    position = select(journals.c.incarnation, consumer.c.entry_id, consumer.c.entry_count, consumer.c.server)
    found = connection.execute(position.join_from(consumer, journals)).one_or_none()
    return Position(*found) if found else None


def standing(database: Database, queue: str) -> Standing:
    """Read how a ledger stands.

    Args:
        database: Where it is.
        queue: The prefix of the queue's keys whose ledger it has to be.

    Raises:
        SchemaMismatch: If its tables are of another release.
        AnotherQueue: If it is another queue's.
        LedgerUnavailable: If the database does not answer.
    """
    with database.reading() as connection:
        check(connection)
        check_queue(connection, queue)
        row = connection.execute(select(consumer, now_ms().label("now_ms"))).one_or_none()
        lost = select(func.count()).where(executions.c.lost_ms.is_not(None))
        return Standing(
            revision=revision_of(connection) or "",
            holder=row.holder if row and row.holder != _NOBODY else None,
            renewed_ms_ago=row.now_ms - row.renewed_ms if row and row.renewed_ms else None,
            position=read_up_to(connection),
            executions=connection.execute(select(func.count()).select_from(executions)).scalar_one(),
            transitions=connection.execute(select(func.count()).select_from(transitions)).scalar_one(),
            lost=connection.execute(lost).scalar_one(),
            # PostgreSQL sums whole numbers to a decimal one.
            missed=int(connection.execute(select(func.coalesce(func.sum(gaps.c.missed), 0))).scalar_one()),
            unrestored=unrestored(connection),
        )
