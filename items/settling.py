"""Settles the items of executions that triggers started, as the executions end.

In the flow: the ledger's consumer calls `settle` in the transaction in which it writes the ends, so an item ends with
its execution or neither does, and a page that is read again finds the firing ended. COMPLETED is DONE; FAILED and
TIMEOUT are failures of the application, with the queue's retries; whatever else ended gives its items back. What a
program itself said of an item meanwhile stays. `lost` looks for firings whose end nobody will tell.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

from sqlalchemy import Connection, select, update

from ..ledger.executions import Execution
from ..ledger.schema.tables import firings, item_queues, queue_items
from ..scheduler.model.item_tokens import OF_TRIGGERS
from ..scheduler.model.states import TERMINAL, State
from .failures import after_failure
from .notifying.outbox import note_items
from .states import Failure, Status
from .store import now_of

_FAILURES: Final = frozenset({State.FAILED, State.TIMEOUT})
_MOST_REASON_CHARS: Final = 500


def settle(connection: Connection, changed: Iterable[Execution]) -> None:
    """Settle the items of executions that have ended.

    Args:
        connection: Of the transaction that writes the ends.
        changed: Executions as they are written, of triggers or not, ended or not.
    """
    ended = {
        each.execution_id: each
        for each in changed
        if each.execution_id.startswith(OF_TRIGGERS) and each.state in TERMINAL and each.lost_ms is None
    }
    if not ended:
        return
    at_ms = now_of(connection)
    for execution_id in _living_among(connection, ended):
        one = ended[execution_id]
        settle_one(connection, execution_id, State(one.state), one.reason, at_ms)


def put_back(connection: Connection, execution_id: str, state: str, at_ms: int) -> None:
    """Give the items of a firing back, and end it in a state."""
    if _end(connection, execution_id, state, at_ms):
        of = queue_items.c
        connection.execute(
            update(queue_items)
            .where(of.job_id == execution_id, of.status == Status.IN_PROGRESS)
            .values(status=Status.NEW, job_id=None, revision=of.revision + 1, updated_ms=at_ms)
        )


def settle_one(connection: Connection, execution_id: str, state: State, reason: str | None, at_ms: int) -> None:
    """End a firing as its execution has ended, unless it has, and settle its items."""
    if state is not State.COMPLETED and state not in _FAILURES:
        put_back(connection, execution_id, state, at_ms)
        return
    if not _end(connection, execution_id, state, at_ms):
        return
    of = queue_items.c
    held = update(queue_items).where(of.job_id == execution_id, of.status == Status.IN_PROGRESS)
    changed: dict[str, Any] = {"revision": of.revision + 1, "updated_ms": at_ms}
    if state is State.COMPLETED:
        ended = {"status": Status.DONE, "ended_ms": at_ms, "error_message": None, "failure": None}
        connection.execute(held.values(ended | changed))
        return
    words = f"its execution ended as {state}" + (f": {reason[:_MOST_REASON_CHARS]}" if reason else "")
    changed |= {"failure": Failure.APPLICATION, "error_message": words}
    rows = connection.execute(
        select(of.item_id, of.retries, item_queues.c.max_retries, item_queues.c.retry_seconds)
        .join_from(queue_items, item_queues)
        .where(of.job_id == execution_id, of.status == Status.IN_PROGRESS)
        .with_for_update(of=queue_items)
    ).all()
    for row in rows:
        after = after_failure(row.retries, row.max_retries, row.retry_seconds, at_ms)
        # What is tried again is this execution's no more.
        left = {} if after["status"] is Status.FAILED else {"job_id": None}
        connection.execute(held.where(of.item_id == row.item_id).values(after | left | changed))
        if after["status"] is Status.FAILED:
            note_items(connection, [row.item_id], at_ms)


def _living_among(connection: Connection, execution_ids: Collection[str]) -> list[str]:
    of = firings.c
    found = select(of.execution_id).where(of.execution_id.in_(execution_ids), of.ended_ms.is_(None))
    return list(connection.execute(found.order_by(of.execution_id)).scalars())


def _end(connection: Connection, execution_id: str, state: str, at_ms: int) -> bool:
    """End a firing; whether it lived."""
    of = firings.c
    over = update(firings).where(of.execution_id == execution_id, of.ended_ms.is_(None))
    return bool(connection.execute(over.values(ended_ms=at_ms, state=state, event=None)).rowcount)
