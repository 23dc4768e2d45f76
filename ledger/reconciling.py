"""Compares living executions with Redis, when entries of the journal are missing or the journal is a new one.

In the flow: the consumer calls it once it has read all there is. Rows are taken over as Redis has them now; entries
that follow are applied to them all the same. An execution that lives in the ledger and that Redis does not know is
marked as lost, and stays so until an entry names it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection, bindparam, func, select, update

from ..scheduler.engine.engine import Engine
from ..scheduler.engine.record import Record
from ..scheduler.model.states import HOLDING, TERMINAL, WAITING, State
from ..scheduler.overview import Overview
from .batch import Figures, Hold
from .executions import Execution, Place
from .fetching import Fetching
from .figures import write_figures
from .kept import write_payloads
from .schema.tables import action, executions, holds, queue_stats
from .writing import known_by_id, write_executions, write_holds

_A_TRIP: Final = 500
_LIVING: Final = sorted(WAITING | HOLDING)
_ENDED: Final = (
    update(holds)
    .where(
        holds.c.execution_id == bindparam("of_execution"),
        holds.c.attempt != bindparam("but_attempt"),
        holds.c.until_ms.is_(None),
    )
    .values(until_ms=bindparam("ended_ms"))
)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What was done."""

    taken_over: int
    """Executions whose rows differed from what Redis knows."""
    lost: int
    """Executions that Redis does not know any more."""


class Living:
    """What Redis knows of executions that have not ended."""

    def __init__(self, engine: Engine, fetching: Fetching) -> None:
        self._engine = engine
        self.fetching = fetching

    def ids(self) -> set[str]:
        """Those of all lanes."""
        views, lanes = self._engine.views, Overview(self._engine.scripts, self._engine.controls).lanes()
        return {one for lane in lanes for one in views.members(lane.lane)}

    def metas(self, execution_ids: list[str]) -> dict[str, dict[str, str]]:
        """The records of those that Redis knows, by id."""
        found = zip(execution_ids, self._engine.views.metas(execution_ids), strict=True)
        return {one: meta for one, meta in found if "state" in meta}


def reconcile(connection: Connection, redis: Living, at_ms: int) -> Reconciled:
    """Bring the rows of living executions, and the figures of their queues, to what Redis knows."""
    living = select(executions.c.execution_id).where(executions.c.state.in_(_LIVING), executions.c.lost_ms.is_(None))
    here = set(connection.execute(living).scalars())
    taken_over = lost = 0
    ids = sorted(here | redis.ids())
    for start in range(0, len(ids), _A_TRIP):
        some = ids[start : start + _A_TRIP]
        rows, metas = known_by_id(connection, some), redis.metas(some)
        changed = list(_changed(rows, metas, at_ms))
        if changed:
            write_executions(connection, changed)
            connection.execute(_ENDED, [_other_holds(row, at_ms) for row in changed])
            write_holds(connection, [_hold(row) for row in changed if row.place is Place.ACTIVE])
            write_payloads(connection, redis.fetching.of_living(changed))
        lost += sum(row.lost_ms is not None for row in changed)
        taken_over += sum(row.lost_ms is None for row in changed)
    _count_again(connection, at_ms)
    return Reconciled(taken_over, lost)


def _changed(rows: dict[str, Execution], metas: dict[str, dict[str, str]], at_ms: int) -> Iterator[Execution]:
    for execution_id in rows.keys() | metas.keys():
        row, meta = rows.get(execution_id), metas.get(execution_id)
        if meta is None:
            assert row is not None
            yield replace(row, lost_ms=at_ms)
            continue
        record = Record.from_meta(execution_id, meta)
        if row is None:
            if record.state not in TERMINAL:
                yield Execution.from_meta(execution_id, meta)
        elif (row.state, row.attempt, row.lost_ms) != (record.state, record.attempt, None):
            if record.state in TERMINAL:
                # The end may be all that Redis keeps of it.
                ended_ms = record.ended_ms or at_ms
                yield replace(row, state=record.state, reason=record.reason, ended_ms=ended_ms, lost_ms=None)
            else:
                yield replace(Execution.from_meta(execution_id, meta), started_ms=row.started_ms)


def _other_holds(row: Execution, at_ms: int) -> dict[str, object]:
    """Those that ended unseen: all but the one that goes on, if one does."""
    goes_on = row.place is Place.ACTIVE
    ended_ms = row.granted_ms if goes_on else row.ended_ms
    attempt = row.attempt if goes_on else -1
    return {"of_execution": row.execution_id, "but_attempt": attempt, "ended_ms": ended_ms or at_ms}


def _hold(row: Execution) -> Hold:
    return Hold(row.execution_id, row.attempt, row.granted_ms or 0, row.all_gates)


def _count_again(connection: Connection, at_ms: int) -> None:
    """Bring every action's figures to the rows of executions; the lifetime totals stay."""
    counted = select(executions.c.action, executions.c.state, func.count())
    counted = counted.where(executions.c.state.in_([State.PENDING, *HOLDING]), executions.c.lost_ms.is_(None))
    found: dict[str, Figures] = {}
    for ref, state, number in connection.execute(counted.group_by(executions.c.action, executions.c.state)):
        figures = found.setdefault(ref, Figures(at_ms=at_ms))
        figures.move(Execution("", state=state).place, number)
    stored = select(action.c.ref).join_from(action, queue_stats)
    for ref in connection.execute(stored).scalars():
        found.setdefault(ref, Figures(at_ms=at_ms))
    connection.execute(update(queue_stats).values(queue_length=0, active_count=0))
    write_figures(connection, found)
