"""Reads who changed what: limits, pauses and settings, and executions that somebody cancelled, moved or removed.

In the flow: the API's audit. Both kinds are entries of the journal, written by the script that made the change: there
is no change without its entry, and no entry without its change. Nothing here writes.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Connection, Select, literal, null, select, tuple_, union_all

from ..schema.tables import changes, transitions


@dataclass(frozen=True, slots=True, order=True)
class EntryPlace:
    """An entry's place among all."""

    journal_id: int
    entry_ms: int
    entry_number: int


@dataclass(frozen=True, slots=True)
class Audited:
    """One change."""

    place: EntryPlace
    at_ms: int
    verb: str
    subject: str
    """What was changed: the name of a gate, lane or setting, or an execution's id."""
    is_execution: bool
    before: str | None
    after: str | None
    """The value; of an execution, its state."""
    by: str


def audited(
    connection: Connection,
    limit: int,
    *,
    before: EntryPlace | None = None,
    subject: str | None = None,
    from_ms: int | None = None,
    to_ms: int | None = None,
) -> list[Audited]:
    """Return changes, the latest first.

    Args:
        connection: Of `Asking.reading`.
        limit: How many at most.
        before: Only those before this place.
        subject: Only those of this name or execution.
        from_ms: Only those made then or later.
        to_ms: Only those made before.
    """
    of_names = select(
        *(changes.c.journal_id, changes.c.entry_ms, changes.c.entry_number, changes.c.at_ms, changes.c.verb),
        *(changes.c.name.label("subject"), literal(0).label("is_execution")),
        *(changes.c.value_before, changes.c.value_after, changes.c.changed_by),
    )
    of_executions = select(
        *(transitions.c.journal_id, transitions.c.entry_ms, transitions.c.entry_number, transitions.c.at_ms),
        *(transitions.c.verb, transitions.c.execution_id.label("subject"), literal(1).label("is_execution")),
        *(null().label("value_before"), transitions.c.state.label("value_after"), transitions.c.changed_by),
    ).where(transitions.c.changed_by.is_not(None))
    sides: list[Select[Any]] = []
    # A cursor may name the journal of any number; PostgreSQL would refuse one that its column could not hold.
    place = (
        []
        if before is None
        else [literal(each, BigInteger) for each in (before.entry_ms, before.journal_id, before.entry_number)]
    )
    for side, of, named in (
        (of_names, changes.c, changes.c.name),
        (of_executions, transitions.c, transitions.c.execution_id),
    ):
        key = tuple_(of.entry_ms, of.journal_id, of.entry_number)
        if before is not None:
            side = side.where(key < tuple_(*place))
        if subject is not None:
            side = side.where(named == subject)
        if from_ms is not None:
            side = side.where(of.at_ms >= from_ms)
        if to_ms is not None:
            side = side.where(of.at_ms < to_ms)
        latest = side.order_by(of.entry_ms.desc(), of.journal_id.desc(), of.entry_number.desc()).limit(limit).subquery()
        sides.append(select(latest))
    both = union_all(*sides).subquery()
    query = select(both).order_by(both.c.entry_ms.desc(), both.c.journal_id.desc(), both.c.entry_number.desc())
    rows = connection.execute(query.limit(limit)).all()
    return [
        Audited(
            EntryPlace(row.journal_id, row.entry_ms, row.entry_number),
            *(row.at_ms, row.verb, row.subject, bool(row.is_execution)),
            *(row.value_before, row.value_after, row.changed_by or ""),
        )
        for row in rows
    ]
