"""Finds one execution for a caller: in Redis as it is now, or in the ledger as it was.

In the flow: every route about one execution begins here. Of an execution that the caller may not see, nothing is told,
not even that there is one.
"""

from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection

from ...ledger.errors import LedgerError
from ...ledger.executions import Execution
from ...ledger.queries.looking import execution_of, is_of, written_until_ms
from ...ledger.queries.looking import result_of as kept_result
from ...scheduler.engine.record import Record, Result, parse_result
from ...scheduler.model.errors import UnknownExecution
from ...scheduler.model.priority import Priority
from ...scheduler.model.states import State
from ...scheduler.views import Explanation
from ..answers.document import Source
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..errors import forbidden
from ..services import Services

_WHOLE: Final = "accepted_at"
"""A record that has this field is whole; else only an end is left of it."""


@dataclass(frozen=True, slots=True)
class Found:
    """An execution that a caller may see."""

    record: Record
    source: Source
    as_of_ms: int
    row: Execution | None = None
    """What the ledger has of it, if it was asked."""
    explained: Explanation | None = None
    """Why it waits, if Redis has it."""


def find(services: Services, caller: Caller, execution_id: str) -> Found:
    """Return an execution.

    Raises:
        UnknownExecution: If there is none, or this caller may not see it.
        QueueUnavailable: If Redis does not answer.
        LedgerError: If only the ledger could know it, and it does not answer.
    """
    found = _found(services, caller, execution_id)
    if found is not None and caller.sees(found.record.user_id):
        return found
    if found is not None and found.row is None:
        # As long and as badly as for one that does not exist: the difference would tell that this one does.
        with services.ledger.reading() as connection:
            execution_of(connection, execution_id)
    raise UnknownExecution(execution_id=execution_id)


def row_of_ledger(connection: Connection, found: Found) -> Execution | None:
    """Return the execution's row; None if the ledger has not read of it yet, or only of an earlier one with its id."""
    row = found.row or execution_of(connection, found.record.execution_id)
    return row if row is not None and is_of(row, found.record) else None


def is_of_ledger(connection: Connection, found: Found) -> bool:
    """Whether what the ledger has under the id is this execution's."""
    return row_of_ledger(connection, found) is not None


def check_reads(caller: Caller, record: Record) -> None:
    """Refuse who may see an execution, but not what it runs and prints.

    Raises:
        Refused: If it is neither its owner nor an admin.
    """
    if not caller.reads_payload_of(record.user_id):
        raise forbidden("what an execution runs and prints is shown to its owner and to admins")


def result_of(services: Services, found: Found) -> tuple[Result, Source] | None:
    """Return the result of an execution, and where it is kept; None if there is none, or only the ledger could know it
    and does not answer.

    Raises:
        QueueUnavailable: If Redis does not answer.
    """
    source, raw = "redis", services.queue.views.result(found.record.execution_id)
    if raw is None:
        try:
            with services.ledger.reading() as connection:
                source = "ledger"
                raw = kept_result(connection, found.record.execution_id) if is_of_ledger(connection, found) else None
        except LedgerError:
            return None
    result = None if raw is None else parse_result(raw)
    return None if result is None else (result, source)


def _found(services: Services, caller: Caller, execution_id: str) -> Found | None:
    try:
        explained = services.queue.explain(execution_id)
    except UnknownExecution:
        explained = None
    if explained is not None and _WHOLE in explained.meta:
        record = Record.from_meta(execution_id, explained.meta)
        return Found(record, "redis", explained.at_ms, explained=explained)
    try:
        with services.ledger.reading() as connection:
            as_of_ms = written_until_ms(connection)
            row = execution_of(connection, execution_id)
    except LedgerError:
        # Only the state is left in Redis: enough for those who may see whatever it is.
        if explained is not None and caller.token.may(Scope.OPERATE):
            return Found(Record.from_meta(execution_id, explained.meta), "redis", explained.at_ms)
        raise
    if row is None:
        return None
    record = record_of(row)
    if explained is not None and record.state is not explained.state:
        # The ledger has not yet read of its end.
        record = replace(record, state=explained.state, attempt=int(explained.meta["attempt"]))
    return Found(record, "ledger", as_of_ms, row)


def record_of(row: Execution) -> Record:
    """Return a row of the ledger in the form of Redis's record."""
    return Record(
        execution_id=row.execution_id,
        state=State(row.state),
        position=None,
        priority="" if row.band is None else Priority(row.band).name,
        lane=row.lane,
        action=row.action,
        user_id=row.user_id,
        gates=tuple(row.gates.splitlines()),
        attempt=row.attempt,
        reason=row.reason,
        pod=row.pod,
        accepted_ms=row.accepted_ms,
        due_ms=row.due_ms,
        granted_ms=row.granted_ms,
        ended_ms=row.ended_ms,
        cancel_requested=False,
    )
