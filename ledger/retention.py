"""``Retention``: deletes what is older than the settings say, a page at a time, between the pages of the journal.

In the flow: the consumer calls `step` after each of its own; a page is one transaction as the consumer, so only one
process deletes, and a killed one leaves whole executions. What lives is never deleted, nor is a dead letter, nor the
last change of a limit, a pause or a setting: Redis may have to be rebuilt from them. What somebody did to an execution
is part of the audit, which has an age of its own: it outlives the execution. Indexes find what is old, as the
journal waits meanwhile, however much the ledger has.

A restored server may tell again of executions that are deleted here. `forgotten_ms` is the end of the latest of them:
entries up to that time count as read, if they are in a journal that was followed before.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, exists, func, or_, select, text, tuple_, update

from ..configs.ledger import LedgerSettings
from ..scheduler.engine.journal import Verb
from ..scheduler.model.states import TERMINAL, State
from .batch import OF_SESSIONS
from .book import Book
from .figures import moment
from .items_kept import delete_ended_firings, delete_ended_items, delete_item_changes, empty_ended_items
from .schema.tables import (
    action,
    changes,
    consumer,
    executions,
    gaps,
    holds,
    payloads,
    queue_stats,
    results,
    transitions,
    wait_counts,
    wait_sums,
)
from .waits.summed_by import By
from .waits.sums import HOUR_MS

ROWS_A_PAGE: Final = 500
_IDLE_SECONDS: Final = 60.0
_BUSY_SECONDS: Final = 0.5
"""Between pages, while there is something to delete: most of the time is for the journal."""
_ENDED: Final = sorted(TERMINAL)
_LIVING: Final = sorted(set(State) - TERMINAL)
_PAUSES: Final = (Verb.PAUSE, Verb.RESUME)
_DAY_MS: Final = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Kept:
    """How much is kept; None: any age, any number."""

    ms: int | None = None
    payloads_ms: int | None = None
    audit_ms: int | None = None
    executions: int | None = None

    @classmethod
    def by(cls, settings: LedgerSettings) -> "Kept":
        """What the settings say."""
        days = (settings.keep_days, settings.keep_payloads_days, settings.keep_audit_days)
        return cls(*(each * _DAY_MS or None for each in days), executions=settings.keep_executions)


ALL: Final = Kept()


class Retention:
    """Deletes from one ledger. Its methods are called by the consumer's thread."""

    def __init__(self, book: Book, kept: Kept, clock: Callable[[], float] = time.monotonic) -> None:
        """Args: `book`, the ledger as the consumer writes it; `kept`, how much stays; `clock`, in seconds."""
        self._book = book
        self._kept = kept
        self._clock = clock
        self._next_at = clock()
        self._payloads_up_to: tuple[int, str] = (-1, "")
        """The last execution, by its end, whose payload this process deleted."""
        self._items_up_to: tuple[int, str] = (-1, "")
        """The same of items."""
        self._looked_up_to = {payloads.name: "", results.name: ""}
        """The last row that was looked at among those that stayed behind."""
        self._excess = 0
        """How many executions there were too many when they were last counted, less those deleted since."""

    def step(self, now_ms: int) -> int:
        """Delete a page, if it is time for one.

        Args:
            now_ms: The Redis server's time.

        Returns:
            How many rows were deleted, or executions lost their payloads.

        Raises:
            NotConsumer: If another process has become the consumer.
            LedgerUnavailable: If the database does not answer.
        """
        if self._kept == ALL or self._clock() < self._next_at:
            return 0
        deleted = self._delete(now_ms)
        self._next_at = self._clock() + (_BUSY_SECONDS if deleted else _IDLE_SECONDS)
        return deleted

    def _delete(self, now_ms: int) -> int:
        deleted = 0
        with self._book.writing() as connection:
            if self._kept.ms is not None:
                for found in (_ended_before(now_ms - self._kept.ms), _lost_before(now_ms - self._kept.ms)):
                    deleted += _delete_executions(connection, found)
            if self._kept.executions is not None and not deleted:
                deleted += self._delete_excess(connection, self._kept.executions)
            if self._kept.payloads_ms is not None and not deleted:
                deleted += self._delete_payloads(connection, now_ms - self._kept.payloads_ms)
            if self._kept.payloads_ms is not None and not deleted:
                deleted += self._delete_left_behind(connection, now_ms - self._kept.payloads_ms)
            if self._kept.payloads_ms is not None and not deleted:
                before_ms = now_ms - self._kept.payloads_ms
                emptied, self._items_up_to = empty_ended_items(connection, before_ms, self._items_up_to)
                deleted += emptied
            if self._kept.ms is not None and not deleted:
                deleted += delete_ended_items(connection, now_ms - self._kept.ms)
                deleted += delete_ended_firings(connection, now_ms - self._kept.ms)
            if self._kept.ms is not None and not deleted:
                deleted += _delete_refusals(connection, now_ms - self._kept.ms)
            if self._kept.ms is not None and not deleted:
                deleted += _delete_rest(connection, now_ms - self._kept.ms)
            if self._kept.ms is not None and not deleted:
                deleted += _delete_sums(connection, now_ms - self._kept.ms)
            if self._kept.audit_ms is not None and not deleted:
                deleted += _delete_audit(connection, now_ms - self._kept.audit_ms)
                deleted += delete_item_changes(connection, now_ms - self._kept.audit_ms)
        return deleted

    def _delete_excess(self, connection: Connection, most: int) -> int:
        if self._excess <= 0:
            # Each row is looked at, so not for each page.
            number = select(func.count()).select_from(executions).where(_has_ended())
            self._excess = connection.execute(number).scalar_one() - most
        oldest = select(executions.c.execution_id, executions.c.ended_ms).where(_has_ended())
        oldest = oldest.order_by(executions.c.ended_ms, executions.c.execution_id)
        deleted = _delete_executions(connection, oldest.limit(max(0, min(ROWS_A_PAGE, self._excess))))
        self._excess -= deleted
        return deleted

    def _delete_payloads(self, connection: Connection, before_ms: int) -> int:
        place = tuple_(executions.c.ended_ms, executions.c.execution_id)
        found = select(executions.c.ended_ms, executions.c.execution_id).where(
            _has_ended(), place > tuple_(*self._payloads_up_to), executions.c.ended_ms < before_ms
        )
        rows = connection.execute(found.order_by(executions.c.ended_ms, executions.c.execution_id).limit(ROWS_A_PAGE))
        places = [(row.ended_ms, row.execution_id) for row in rows]
        for table in (payloads, results):
            connection.execute(delete(table).where(table.c.execution_id.in_([one for _, one in places])))
        self._payloads_up_to = places[-1] if places else self._payloads_up_to
        return len(places)

    def _delete_left_behind(self, connection: Connection, before_ms: int) -> int:
        """Delete what is old in a page of payloads and one of results: of what was still a dead letter when its turn
        came, and of ends that were restored, which were no longer ahead when they came to be old.
        """
        deleted = 0
        for table in (payloads, results):
            page = select(table.c.execution_id).where(table.c.execution_id > self._looked_up_to[table.name])
            ids = list(connection.execute(page.order_by(table.c.execution_id).limit(ROWS_A_PAGE)).scalars())
            self._looked_up_to[table.name] = ids[-1] if len(ids) == ROWS_A_PAGE else ""
            old = select(executions.c.execution_id).where(
                executions.c.execution_id.in_(ids), _has_ended(), executions.c.ended_ms < before_ms
            )
            deleted += connection.execute(delete(table).where(table.c.execution_id.in_(old))).rowcount
        return deleted


def _has_ended() -> ColumnElement[bool]:
    # Not "in one of these states": SQLite would go by their index, and sort all that it finds by the end.
    return and_(executions.c.state.not_in(_LIVING), executions.c.dead.is_(False))


def _ended_before(before_ms: int) -> Select[Any, Any]:
    found = select(executions.c.execution_id, executions.c.ended_ms)
    return (
        found.where(_has_ended(), executions.c.ended_ms < before_ms).order_by(executions.c.ended_ms).limit(ROWS_A_PAGE)
    )


def _lost_before(before_ms: int) -> Select[Any, Any]:
    found = select(executions.c.execution_id, executions.c.ended_ms)
    is_lost = and_(executions.c.state.not_in(_ENDED), executions.c.lost_ms.is_not(None))
    return found.where(is_lost, executions.c.lost_ms < before_ms).order_by(executions.c.lost_ms).limit(ROWS_A_PAGE)


def _delete_executions(connection: Connection, found: Select[Any, Any]) -> int:
    rows = connection.execute(found).all()
    ids = [row.execution_id for row in rows]
    if not ids:
        return 0
    of_nobody = transitions.c.changed_by.is_(None)
    connection.execute(delete(transitions).where(transitions.c.execution_id.in_(ids), of_nobody))
    for table in (holds, payloads, results, executions):
        connection.execute(delete(table).where(table.c.execution_id.in_(ids)))
    latest_ms = max(row.ended_ms or 0 for row in rows)
    connection.execute(update(consumer).where(consumer.c.forgotten_ms < latest_ms).values(forgotten_ms=latest_ms))
    return len(ids)


def _delete_refusals(connection: Connection, before_ms: int) -> int:
    """Delete refusals by themselves: no execution came of them with which they could go."""
    key = (transitions.c.journal_id, transitions.c.entry_ms, transitions.c.entry_number)
    # Said in words, as an index of refusals alone is found by them.
    is_refusal = text("transitions.verb = 'reject'")
    old = select(*key).where(is_refusal, transitions.c.entry_ms < before_ms)
    old = old.order_by(transitions.c.entry_ms, transitions.c.entry_number).limit(ROWS_A_PAGE)
    return connection.execute(delete(transitions).where(tuple_(*key).in_(old))).rowcount


def _delete_rest(connection: Connection, before_ms: int) -> int:
    place = (gaps.c.journal_id, gaps.c.entry_count)
    old = select(*place).where(gaps.c.noticed_ms < before_ms).limit(ROWS_A_PAGE)
    deleted = connection.execute(delete(gaps).where(tuple_(*place).in_(old))).rowcount
    is_used = exists().where(executions.c.action == action.c.ref)
    unused = select(action.c.id).join_from(action, queue_stats)
    unused = unused.where(queue_stats.c.last_updated < moment(before_ms), ~is_used)
    ids = list(connection.execute(unused.limit(ROWS_A_PAGE)).scalars())
    connection.execute(delete(queue_stats).where(queue_stats.c.action_id.in_(ids)))
    connection.execute(delete(action).where(action.c.id.in_(ids)))
    return deleted


def _delete_sums(connection: Connection, before_ms: int) -> int:
    """Delete what was waited for in hours that are over so long."""
    deleted = 0
    for table in (wait_sums, wait_counts):
        key, until_ms = tuple_(*table.primary_key), before_ms - HOUR_MS
        for by in By:
            old = select(*table.primary_key).where(table.c.by_what == by, table.c.hour_ms < until_ms)
            deleted += connection.execute(delete(table).where(key.in_(old.limit(ROWS_A_PAGE)))).rowcount
    return deleted


def _delete_audit(connection: Connection, before_ms: int) -> int:
    """Delete what somebody changed so long ago: of controls all but the last, of executions what these left behind."""
    key = (changes.c.journal_id, changes.c.entry_ms, changes.c.entry_number)
    later = changes.alias()
    is_of_a_kind = or_(later.c.verb == changes.c.verb, and_(later.c.verb.in_(_PAUSES), changes.c.verb.in_(_PAUSES)))
    is_later = tuple_(later.c.journal_id, later.c.entry_ms, later.c.entry_number) > tuple_(
        changes.c.journal_id, changes.c.entry_ms, changes.c.entry_number
    )
    has_later = exists().where(later.c.name == changes.c.name, is_later, is_of_a_kind)
    old = select(*key).where(changes.c.at_ms < before_ms, or_(has_later, changes.c.verb.in_(OF_SESSIONS)))
    deleted = connection.execute(delete(changes).where(tuple_(*key).in_(old.limit(ROWS_A_PAGE)))).rowcount
    key = (transitions.c.journal_id, transitions.c.entry_ms, transitions.c.entry_number)
    # Said in words, as an index of these alone is found by them.
    is_asked = text("transitions.changed_by IS NOT NULL")
    is_there = exists().where(executions.c.execution_id == transitions.c.execution_id)
    old = select(*key).where(is_asked, transitions.c.entry_ms < before_ms, ~is_there)
    old = old.order_by(transitions.c.entry_ms, transitions.c.entry_number).limit(ROWS_A_PAGE)
    return deleted + connection.execute(delete(transitions).where(tuple_(*key).in_(old))).rowcount
