"""Compares living executions with Redis, when entries of the journal are missing or the journal is a new one.

In the flow: the consumer calls it once it has read all there is. Rows are taken over as Redis has them now; entries
that follow are applied to them all the same. An execution that lives in the ledger and that Redis does not know is
marked as lost, and stays so until an entry names it. If the journal that is followed told of it, the server that has
this journal had it, and has lost nothing: its end is among the entries that were dropped unread.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import BigInteger, Connection, bindparam, func, or_, select, update

from ..configs.logger import Logger
from ..scheduler.engine.engine import Engine
from ..scheduler.engine.journal import Change
from ..scheduler.model.states import HOLDING, TERMINAL, WAITING, State
from ..scheduler.overview import Overview
from .batch import Figures, Hold
from .errors import RowsRefused
from .executions import Execution, Place, cleaned
from .fetching import Fetching
from .figures import write_figures
from .kept import write_payloads
from .magnitudes import magnitude_in_sql
from .reviving import judge_compared
from .schema.tables import action, executions, holds, queue_stats, transitions
from .settling import Settle, settle_nothing
from .writing import known_by_id, write_executions, write_holds

_log: Final = Logger("bandmaster.ledger")
Transaction = Callable[[], AbstractContextManager[Connection]]
_A_TRIP: Final = 500
_LIVING: Final = sorted(WAITING | HOLDING)
_ENDED: Final = (
    update(holds)
    .where(
        holds.c.execution_id == bindparam("of_execution"),
        or_(holds.c.attempt != bindparam("but_attempt"), holds.c.since_ms != bindparam("but_since_ms")),
        holds.c.until_ms.is_(None),
    )
    .values(
        until_ms=bindparam("ended_ms"),
        magnitude=magnitude_in_sql(bindparam("ended_ms", type_=BigInteger) - holds.c.since_ms),
    )
)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What was done."""

    taken_over: int
    """Executions whose rows differed from what Redis knows."""
    lost: int
    """Executions that Redis does not know any more."""


@dataclass(frozen=True, slots=True)
class Records:
    """What Redis knows of some executions."""

    metas: dict[str, dict[str, str]]
    """Their records, by id; those that it does not know are left out."""
    dead: frozenset[str]
    """All dead letters."""
    had: frozenset[str] = frozenset()
    """Those of which the journal that is followed told."""
    dead_since_ms: int = 0
    """Of a dead letter that ended before, the time is over."""


class Living:
    """What Redis knows of executions that have not ended, of dead letters, and of what operators set."""

    def __init__(self, engine: Engine, fetching: Fetching) -> None:
        self._engine = engine
        self.fetching = fetching

    def ids(self) -> set[str]:
        """Those of all lanes that have not ended."""
        views, lanes = self._engine.views, Overview(self._engine.scripts).lanes()
        return {one for lane in lanes for one in views.members(lane.lane)}

    def limits(self) -> dict[str, int]:
        """The limits that operators set, by gate or kind."""
        return self._engine.controls.limits()

    def changes(self) -> list[Change]:
        """The latest changes by operators."""
        return self._engine.journal.changes()

    def dead(self) -> frozenset[str]:
        """Dead letters."""
        return frozenset(self._engine.views.dead(limit=0))

    def dead_ttl_ms(self) -> int:
        """For how long Redis keeps a dead letter."""
        return int(1000 * (self._engine.views.status().settings["dead_message_ttl_seconds"] or 0))

    def metas(self, execution_ids: list[str]) -> dict[str, dict[str, str]]:
        """The records of those that Redis knows, by id."""
        found = zip(execution_ids, self._engine.views.metas(execution_ids), strict=True)
        return {one: cleaned(meta) for one, meta in found if "state" in meta}


class Reconciling:
    """Brings the rows of living executions, and the figures of their queues, to what Redis knows.

    Redis is read before each transaction begins, so it may be slow without holding a lock of the database. What changes
    meanwhile is told by entries behind the position, which nobody else moves.
    """

    def __init__(
        self,
        redis: Living,
        reading: Transaction,
        writing: Transaction,
        *,
        journal_id: int,
        at_ms: int,
        after_page: Callable[[], None],
        keep_figures: bool,
        settle: Settle = settle_nothing,
    ) -> None:
        """Makes no call.

        Args:
            redis: What Redis knows.
            reading: Opens a transaction.
            writing: Opens one as the consumer.
            journal_id: Of the journal that is followed.
            at_ms: The server's time.
            after_page: Called after each page. What it raises ends the work.
            keep_figures: Whether the figures of queues are written.
            settle: Is told of executions as they are written, in the same transaction.
        """
        self._redis, self._settle = redis, settle
        self._keeps_figures = keep_figures
        self._reading, self._writing = reading, writing
        self._journal_id, self._at_ms, self._after_page = journal_id, at_ms, after_page
        self._dead_since_ms = self._taken_over = self._lost = 0

    def run(self) -> Reconciled:
        """Take over all rows, a page a transaction.

        If the process dies here, the ledger stays unsure, and the next one does all of it again.
        """
        living = select(executions.c.execution_id).where(
            or_(executions.c.state.in_(_LIVING) & executions.c.lost_ms.is_(None), executions.c.dead.is_(True))
        )
        with self._reading() as connection:
            here = set(connection.execute(living).scalars())
        dead, self._dead_since_ms = self._redis.dead(), self._at_ms - self._redis.dead_ttl_ms()
        ids = sorted(here | dead | self._redis.ids())
        for start in range(0, len(ids), _A_TRIP):
            self._take_over(ids[start : start + _A_TRIP], dead)
        if self._keeps_figures:
            limits = self._redis.limits()
            with self._writing() as connection:
                _count_again(connection, limits, self._at_ms)
        return Reconciled(self._taken_over, self._lost)

    def _take_over(self, some: list[str], dead: frozenset[str]) -> None:
        while some:
            try:
                written = self._write(some, Records(self._redis.metas(some), dead))
            except (RowsRefused, KeyError, ValueError) as error:
                # A record of another release, or a damaged one, keeps nobody else's row from being right.
                written = len(some) // 2
                if not written:
                    _log.warning("record_refused", execution_id=some[0], error=type(error).__name__)
                    return
                self._take_over(some[:written], dead)
            some = some[written:]

    def _write(self, some: list[str], records: Records) -> int:
        """Take over some rows, or as many of the first of them as one transaction can take; how many."""
        with self._reading() as connection:
            had = self._told_of(connection, set(some) - records.metas.keys())
            records = replace(records, had=had, dead_since_ms=self._dead_since_ms)
            differing = list(_changed(known_by_id(connection, some), records, self._at_ms))
        payloads, fetched = self._redis.fetching.of_living(differing)
        if fetched < len(differing):
            some = some[: some.index(differing[fetched].execution_id)]
            records = replace(records, metas={one: records.metas[one] for one in some if one in records.metas})
        with self._writing() as connection:
            # Read again: somebody may have been forgotten meanwhile.
            rows = known_by_id(connection, some)
            changed = list(_changed(rows, records, self._at_ms))
            judge_compared(connection, rows, changed, self._at_ms, self._journal_id)
            write_executions(connection, changed)
            self._settle(connection, changed)
            names = {row.execution_id for row in changed}
            # An entry after the grant, read without it, may have brought a row to where it holds, and opened nothing.
            holders = [row for one, row in rows.items() if one not in names and row.place is Place.ACTIVE]
            if compared := [*changed, *holders]:
                connection.execute(_ENDED, [_other_holds(row, self._at_ms) for row in compared])
            write_holds(connection, [_hold(row) for row in compared if row.place is Place.ACTIVE])
            write_payloads(connection, [each for one, each in payloads.items() if one in names])
        lost = sum(row.lost_ms is not None for row in changed)
        self._lost += lost
        self._taken_over += len(changed) - lost
        self._after_page()
        return len(some)

    def _told_of(self, connection: Connection, execution_ids: set[str]) -> frozenset[str]:
        of = transitions.c
        told = select(of.execution_id).where(of.execution_id.in_(execution_ids), of.journal_id == self._journal_id)
        return frozenset(connection.execute(told.distinct()).scalars())


def _changed(rows: dict[str, Execution], records: Records, at_ms: int) -> Iterator[Execution]:
    for execution_id in sorted(rows.keys() | records.metas.keys()):
        row, meta, is_dead = rows.get(execution_id), records.metas.get(execution_id), execution_id in records.dead
        if meta is None:
            had = execution_id in records.had
            if row is not None and row.state not in TERMINAL:
                yield replace(row, lost_ms=at_ms, ended_ms=at_ms if had else None)
            # A dead letter that an emptied server has lost stays one: it can be restored.
            elif row is not None and row.dead and had and (row.ended_ms or 0) < records.dead_since_ms:
                yield replace(row, dead=False)
            continue
        told = replace(Execution.from_meta(execution_id, meta), dead=is_dead)
        if row is None:
            if told.state not in TERMINAL or is_dead:
                yield told
        elif _differs(row, told):
            yield _taken_over(row, told, at_ms)


def _differs(row: Execution, told: Execution) -> bool:
    differs = (row.state, row.attempt, row.dead, row.lost_ms) != (told.state, told.attempt, told.dead, None)
    if differs or told.state in TERMINAL:
        return differs or _is_another(row, told)
    waits = told.place is Place.WAITING
    return (
        _is_another(row, told)
        or row.band != told.band
        or (waits and (row.score, row.due_ms) != (told.score, told.due_ms))
        or (told.place is Place.ACTIVE and row.granted_ms != told.granted_ms)
    )


def _is_another(row: Execution, told: Execution) -> bool:
    """Whether the id was used again; of one that ended long ago Redis does not know when it was accepted."""
    return told.accepted_ms is not None and row.accepted_ms != told.accepted_ms


def _taken_over(row: Execution, told: Execution, at_ms: int) -> Execution:
    """A row as Redis tells of it, with what only the ledger knows of the same attempt."""
    if _is_another(row, told):
        return replace(told, ended_ms=told.ended_ms or at_ms) if told.state in TERMINAL else told
    if told.state in TERMINAL:
        # The end may be all that Redis keeps of it.
        before = row if row.state == told.state else told
        ended = replace(row, state=told.state, reason=told.reason or before.reason, dead=told.dead, lost_ms=None)
        ended.ended_ms = told.ended_ms or before.ended_ms or at_ms
        if told.attempt != row.attempt:
            ended.attempt, ended.granted_ms, ended.started_ms = told.attempt, told.granted_ms, told.started_ms
        return ended
    taken = replace(told, waiting_ms=told.waiting_ms or row.waiting_ms, revived_in=row.revived_in)
    if told.attempt == row.attempt:
        taken.granted_ms, taken.started_ms = told.granted_ms or row.granted_ms, told.started_ms or row.started_ms
    return taken


def _other_holds(row: Execution, at_ms: int) -> dict[str, object]:
    """Those that ended unseen: all but the one that goes on, if one does."""
    goes_on = row.place is Place.ACTIVE
    ended_ms = row.granted_ms if goes_on else row.ended_ms
    attempt = row.attempt if goes_on else -1
    return {
        "of_execution": row.execution_id,
        "but_attempt": attempt,
        "but_since_ms": row.granted_ms or 0,
        "ended_ms": ended_ms or at_ms,
    }


def _hold(row: Execution) -> Hold:
    return Hold(row.execution_id, row.attempt, row.granted_ms or 0, row.all_gates, row.lane)


def _count_again(connection: Connection, limits: Mapping[str, int], at_ms: int) -> None:
    """Bring every action's figures to the rows of executions, and its limit to that of Redis; lifetime totals stay."""
    counted = select(executions.c.action, executions.c.state, func.count())
    counted = counted.where(executions.c.state.in_([State.PENDING, *HOLDING]), executions.c.lost_ms.is_(None))
    found: dict[str, Figures] = {}
    for ref, state, number in connection.execute(counted.group_by(executions.c.action, executions.c.state)):
        figures = found.setdefault(ref, Figures(at_ms=at_ms))
        figures.move(Execution("", state=state).place, number)
    stored = select(action.c.ref).join_from(action, queue_stats)
    for ref in connection.execute(stored).scalars():
        figures = found.setdefault(ref, Figures(at_ms=at_ms))
        figures.limit = str(limits.get(f"action:{ref}", ""))
    connection.execute(update(queue_stats).values(queue_length=0, active_count=0))
    write_figures(connection, found)
