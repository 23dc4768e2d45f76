"""Reads what the ledger knows of one execution: its row, its transitions, its payload and its result.

In the flow: the API asks here for what Redis does not know any more, and for the whole timeline, in one transaction of
`Asking.reading` for each of its answers.
"""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, tuple_

from ...scheduler.engine.journal import Verb
from ...scheduler.engine.record import Record
from ..executions import Execution
from ..schema.tables import consumer, executions, journals, payloads, results, transitions
from .listing import COLUMNS


@dataclass(frozen=True, slots=True)
class Step:
    """One transition."""

    at_ms: int
    verb: str
    state: str | None
    attempt: int
    reason: str | None
    by: str | None
    details: dict[str, Any]


def execution_of(connection: Connection, execution_id: str) -> Execution | None:
    """Return an execution's row; None if it is not known."""
    row = connection.execute(select(*COLUMNS).where(executions.c.execution_id == execution_id)).one_or_none()
    return None if row is None else Execution(*row)


def is_of(row: Execution, record: Record) -> bool:
    """Whether a row is of the execution that a record is of: an id may be used again."""
    return (row.accepted_ms, row.user_id) == (record.accepted_ms, record.user_id)


def steps_of(
    connection: Connection,
    execution_id: str,
    limit: int,
    *,
    from_ms: int = 0,
    up_to: tuple[int, int, int] | None = None,
) -> list[Step]:
    """Return an execution's latest transitions, in their order.

    A refusal is none: it tells of another execution, which was to have the same id.

    Args:
        connection: Of the ledger.
        execution_id: The execution.
        limit: How many at most.
        from_ms: Not those before.
        up_to: Not those after this one, by its primary key; None: all.
    """
    of = transitions.c
    place = tuple_(of.journal_id, of.entry_ms, of.entry_number)
    query = (
        select(of.at_ms, of.verb, of.state, of.attempt, of.reason, of.changed_by, of.details)
        .where(of.execution_id == execution_id, of.at_ms >= from_ms, of.verb != Verb.REJECT)
        .order_by(of.journal_id.desc(), of.entry_ms.desc(), of.entry_number.desc())
        .limit(limit)
    )
    if up_to is not None:
        query = query.where(place <= tuple_(*up_to))
    return [
        Step(row.at_ms, row.verb, row.state, row.attempt or 0, row.reason, row.changed_by, json.loads(row[6] or "{}"))
        for row in reversed(connection.execute(query).all())
    ]


def event_of(connection: Connection, execution_id: str) -> bytes | None:
    """Return the event as JSON, if the ledger keeps it."""
    return connection.execute(
        select(payloads.c.event).where(payloads.c.execution_id == execution_id)
    ).scalar_one_or_none()


def result_of(connection: Connection, execution_id: str) -> bytes | None:
    """Return the result as JSON, if the ledger keeps it."""
    return connection.execute(
        select(results.c.result).where(results.c.execution_id == execution_id)
    ).scalar_one_or_none()


def written_until_ms(connection: Connection) -> int:
    """Return up to which time the journal was read, in Unix milliseconds: at least when it was begun; 0 if none was.

    What is read in the same transaction is as the ledger was at that moment.
    """
    query = select(consumer.c.entry_id, journals.c.begun_ms).join_from(consumer, journals)
    row = connection.execute(query).one_or_none()
    return 0 if row is None else max(int((row.entry_id or "0").partition("-")[0]), row.begun_ms)
