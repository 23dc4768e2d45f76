"""Which notifications are to be sent now, and what came of an attempt: the statements of delivery.

In the flow: `delivering` asks for what is due, and notes each attempt in a transaction of its own. An attempt that was
not noted, as the process died, is made again. Of each queue and trigger a few are due at once, so that one whose
receiver hangs leaves the others their turns, however much it has waiting.
"""

import random
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Table, case, delete, exists, or_, select, update

from ...ledger.schema.notification_tables import TEST, waits
from ...ledger.schema.tables import item_queues, notifications, triggers
from ...ledger.totals import Totals, write_totals
from .subject import Subject

DUE_OF_ONE: Final = 4
"""Of a queue or trigger."""
FIRST_PAUSE_SECONDS: Final = 5
LAST_PAUSE_SECONDS: Final = 3_600
_MOST_DOUBLED: Final = 12
GIVEN_UP_AFTER_MS: Final = 24 * 3_600_000
"""From when it was written; a last attempt is made then."""
TEST_TRIED_WITHIN_MS: Final = 60_000
"""A test that nobody sent by then is not sent any more: whoever asked for it has gone."""
TEST_OVER_AFTER_MS: Final = 3 * TEST_TRIED_WITHIN_MS
"""An attempt that was begun in time has ended by then."""
KEPT_MS: Final = 30 * 24 * 3_600_000
"""What was sent or given up."""
ROWS_A_PAGE: Final = 500
PROBLEM_MAX_CHARS: Final = 500
NOBODY: Final = "there is no address any more"
NOT_SENT: Final = f"no process sent it within {TEST_TRIED_WITHIN_MS // 1000} s"
_TABLES: Final[tuple[tuple[Subject, Table, str], ...]] = (
    (Subject.QUEUE, item_queues, "queue_id"),
    (Subject.TRIGGER, triggers, "trigger_id"),
)
_of: Final = notifications.c
_IS_TEST: Final = _of.event == TEST


@dataclass(frozen=True, slots=True)
class Due:
    """A notification that is to be sent."""

    delivery_id: str
    url: str
    event: str
    subject_name: str
    body: str
    created_ms: int
    attempts: int
    """That were made."""


def due_now(connection: Connection, at_ms: int) -> list[Due]:
    """Return what is to be sent, the longest due first."""
    found = list[Any]()
    for subject, table, key in _TABLES:
        first = notifications.alias()
        is_its = (first.c.subject == subject.value, first.c.subject_id == table.c[key])
        is_wanted = or_(first.c.event != TEST, first.c.created_ms > at_ms - TEST_TRIED_WITHIN_MS)
        some = (
            select(first.c.delivery_id)
            .where(*is_its, waits(first), first.c.again_ms <= at_ms, is_wanted)
            .order_by(first.c.again_ms)
            .limit(DUE_OF_ONE)
        )
        of_each = select(notifications, table.c.notify_url).join_from(
            table, notifications, _of.delivery_id.in_(some.correlate(table).scalar_subquery())
        )
        found += connection.execute(of_each.where(table.c.notify_url.is_not(None)))
    found.sort(key=lambda row: row.again_ms)
    return [
        Due(
            row.delivery_id,
            row.notify_url,
            row.event,
            row.subject_name,
            row.body,
            created_ms=row.created_ms,
            attempts=row.attempts,
        )
        for row in found
    ]


def note_sent(connection: Connection, due: Due, status: int | None, at_ms: int) -> None:
    """Note that a receiver took it, and what it answered with."""
    count = _note(connection, due, sent_ms=at_ms, last_problem=None, last_status=status)
    _count(connection, "sent", 0 if due.event == TEST else count)


def note_problem(connection: Connection, due: Due, problem: str, status: int | None, at_ms: int) -> None:
    """Note that an attempt failed, and when the next one is; after a day there is none, and of a test never."""
    is_test = due.event == TEST
    is_over = is_test or at_ms >= due.created_ms + GIVEN_UP_AFTER_MS
    then = {"failed_ms": at_ms} if is_over else {"again_ms": at_ms + pause_ms(due.attempts + 1)}
    count = _note(connection, due, last_problem=problem[:PROBLEM_MAX_CHARS], last_status=status, **then)
    _count(connection, "failed", count if is_over and not is_test else 0)


def _note(connection: Connection, due: Due, **columns: Any) -> int:
    """Note an attempt of what waits still; how many that are."""
    noted = update(notifications).where(_of.delivery_id == due.delivery_id, waits())
    return connection.execute(noted.values(attempts=_of.attempts + 1, **columns)).rowcount


def pause_ms(attempts: int) -> int:
    """Return how long to wait after so many attempts: twice as long each time, and up to a quarter longer, so that what
    failed together does not come together again."""
    seconds = min(FIRST_PAUSE_SECONDS * 2 ** min(attempts - 1, _MOST_DOUBLED), LAST_PAUSE_SECONDS)
    # No secret: any spread will do.
    return int(seconds * 1000 * (1 + random.random() / 4))


def give_up(connection: Connection, at_ms: int) -> int:
    """Give up a page of what nobody is to be told any more: the address or its owner is gone, or it is a test that
    nobody sent in time; how many."""
    has_owner = [
        exists().where(*(_of.subject == subject.value, table.c[key] == _of.subject_id, table.c.notify_url.is_not(None)))
        for subject, table, key in _TABLES
    ]
    is_late = _IS_TEST & (_of.created_ms <= at_ms - TEST_OVER_AFTER_MS)
    page = select(_of.delivery_id).where(waits(), is_late | ~or_(*has_owner)).limit(ROWS_A_PAGE)
    why = case((is_late, NOT_SENT), else_=NOBODY)
    over = update(notifications).where(_of.delivery_id.in_(page)).values(failed_ms=at_ms, last_problem=why)
    events = connection.execute(over.returning(_of.event)).scalars().all()
    _count(connection, "failed", sum(event != TEST for event in events))
    return len(events)


def delete_old(connection: Connection, at_ms: int) -> int:
    """Delete a page of what was sent or given up long ago; how many."""
    deleted = 0
    for column in (_of.sent_ms, _of.failed_ms):
        old = select(_of.delivery_id).where(column < at_ms - KEPT_MS).limit(ROWS_A_PAGE)
        deleted += connection.execute(delete(notifications).where(_of.delivery_id.in_(old))).rowcount
    return deleted


def _count(connection: Connection, outcome: str, count: int) -> None:
    if count:
        totals = Totals()
        totals.notify(outcome, count)
        write_totals(connection, totals)
