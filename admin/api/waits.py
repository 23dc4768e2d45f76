"""Tells what an execution waited for.

In the flow: limits and pauses of now come from Redis, what was changed and who held what from the ledger. Who held a
gate is told by id to those who see that execution; to others it is one of a number.
"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, select

from ...ledger.schema.tables import executions
from ...ledger.waits.attributing import Part
from ...ledger.waits.in_force import in_force
from ...ledger.waits.telling import Told, Waited, waits_told
from ...scheduler.events.fields import ExecutionId
from ...scheduler.keys import DEFAULT_LANE
from ..answers.waits import HolderAnswer, WaitAnswer, WaitPart, Waits
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from .finding import find, row_of_ledger
from .moments import shown_at
from .queue_routes import QueueRouter
from .requiring import ReadCaller, ServicesOf

_UNKNOWN: Final = Told([], complete=False)

router: Final = QueueRouter()


@router.get("/{execution_id}/waits", summary="Show what an execution waited for")
def show_waits(services: ServicesOf, caller: ReadCaller, execution_id: ExecutionId) -> Waits:
    """Each wait by itself, a retry's delay too: the parts of it sum to the wait, to the millisecond."""
    found = find(services, caller, execution_id)
    now = in_force(services.queue, found.record.lane or DEFAULT_LANE)
    with services.ledger.reading() as connection:
        row = row_of_ledger(connection, found)
        told = _UNKNOWN if row is None else waits_told(connection, row, now)
        seen = None if caller.token.may(Scope.OPERATE) else _seen(connection, caller, told)
    return Waits(
        execution_id=execution_id,
        waits=[_wait(each, seen) for each in told.waits],
        complete=told.complete,
        source="ledger",
        as_of=shown_at(now.now_ms),
    )


def _seen(connection: Connection, caller: Caller, told: Told) -> frozenset[str]:
    """Those who held something, and whom the caller may see."""
    ids = sorted({each.execution_id for part in _parts(told) for each in part.holders})
    query = select(executions.c.execution_id, executions.c.user_id).where(executions.c.execution_id.in_(ids))
    return frozenset(one for one, user_id in connection.execute(query) if caller.sees(user_id))


def _parts(told: Told) -> Iterator[Part]:
    for each in told.waits:
        yield from each.parts


def _wait(waited: Waited, seen: frozenset[str] | None) -> WaitAnswer:
    wait = waited.wait
    return WaitAnswer(
        attempt=wait.attempt,
        since=shown_at(wait.span.since_ms),
        until=shown_at(wait.span.until_ms),
        ended_by=wait.ended_by,
        ms=wait.span.length_ms,
        parts=[_part(each, seen) for each in waited.parts],
        sampled=waited.sampled,
    )


def _part(part: Part, seen: frozenset[str] | None) -> WaitPart:
    told = (each for each in part.holders if seen is None or each.execution_id in seen)
    return WaitPart(
        cause=part.cause,
        name=part.name,
        ms=part.ms,
        limit=part.limit,
        holder_count=part.holder_count,
        holders=[HolderAnswer(execution_id=each.execution_id, ms=each.ms) for each in told],
        started_ahead=part.started_ahead,
    )
