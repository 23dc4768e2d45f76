"""Reads who changed what: limits, pauses, settings, executions and tokens, and who signed in.

In the flow: the API's audit. Changes of the queue are entries of the journal, written by the script that made the
change, and a token's making and its end stand in its own row: there is no change without its entry, and no entry
without its change. Nothing here writes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Column, Connection, Select, Text, cast, literal, null, or_, select, tuple_, union_all

from ...scheduler.engine.journal import Verb
from ...scheduler.model.priority import Priority
from ..asked import are_asked_by
from ..batch import OF_SESSIONS
from ..schema.tables import changes, item_changes, tokens, transitions
from .token_changes import CREATED, REVOKED, TokenChange, token_changes

_MADE: Final = 0
_ENDED: Final = 1
_NO_JOURNAL: Final = 0
"""In the place of a token's entries, whose number is 0 for its making and 1 for its end."""
_AFTER_TOKENS: Final = 2
"""Added to the numbers of changes of items, so that they are none of a token's."""
_DEAD: Final = "DEAD"
"""What a dead letter is before it is dropped."""


class Kind(StrEnum):
    """What was changed."""

    CONTROL = "control"
    """A limit, a pause, a setting, an action's counters; or a user was forgotten."""
    EXECUTION = "execution"
    ITEM = "item"
    """A queue of items was made, changed or deleted, or an operator changed an item."""
    SESSION = "session"
    """Somebody signed in or out."""
    TOKEN = "token"


class EntryPlace(NamedTuple):
    """An entry's place among all."""

    journal_id: int
    entry_ms: int
    entry_number: int
    subject: str
    """Tells those of tokens apart."""


@dataclass(frozen=True, slots=True)
class Sought:
    """Which changes are wanted: those that fit all that is given."""

    kinds: tuple[Kind, ...] = tuple(Kind)
    verbs: tuple[str, ...] = ()
    """None: any."""
    subject: str | None = None
    who: str | None = None
    """The owner of a token, or user and host."""
    from_ms: int | None = None
    """Made then or later."""
    to_ms: int | None = None
    """Made before."""


@dataclass(frozen=True, slots=True)
class Audited:
    """One change."""

    place: EntryPlace
    at_ms: int
    verb: str
    subject: str
    """What was changed: the name of a gate, lane, setting or session, or the id of an execution or a token."""
    kind: Kind
    before: str | None
    after: str | None
    """The value; of an execution, its state, or its priority if that was changed."""
    by: str


@dataclass(frozen=True, slots=True)
class _Side:
    """Where entries of some kinds stand."""

    query: Any
    """A `Select`, of as many columns as all sides have."""
    entry: tuple[Any, Any, Any]
    """When it was written, in which journal, and its number."""
    at_ms: Column[Any]
    verb: Any
    subject: Column[Any]
    by: Column[Any]
    is_of_tokens: bool = False


def audited(connection: Connection, sought: Sought, limit: int, *, before: EntryPlace | None = None) -> list[Audited]:
    """Return changes, the latest first.

    Args:
        connection: Of `Asking.reading`.
        sought: Which.
        limit: How many at most.
        before: Only those before this place.
    """
    sides = [_latest(side, sought, limit, before) for side in _sides(sought.kinds)]
    if not sides:
        return []
    every = union_all(*(select(side.subquery()) for side in sides)).subquery()
    order = (every.c.entry_ms, every.c.journal_id, every.c.entry_number, every.c.subject)
    rows = connection.execute(select(every).order_by(*(each.desc() for each in order)).limit(limit)).all()
    of_tokens = token_changes(connection, {row.subject for row in rows if row.kind == Kind.TOKEN})
    return [_read(row, of_tokens) for row in rows]


def _sides(kinds: Sequence[Kind]) -> list[_Side]:
    sides: list[_Side] = []
    if Kind.CONTROL in kinds or Kind.SESSION in kinds:
        of = changes.c
        columns = (of.value_before, of.value_after, cast(null(), Text).label("details"))
        side = _journalled(of, of.name, literal(Kind.CONTROL.value), columns)
        wanted = [of.verb.in_(OF_SESSIONS)] if Kind.SESSION in kinds else []
        wanted += [of.verb.not_in(OF_SESSIONS)] if Kind.CONTROL in kinds else []
        sides.append(_Side(side.where(or_(*wanted)), _entry(of), of.at_ms, of.verb, of.name, of.changed_by))
    if Kind.EXECUTION in kinds:
        of = transitions.c
        columns = (cast(null(), Text).label("value_before"), of.state.label("value_after"), of.details)
        side = _journalled(of, of.execution_id, literal(Kind.EXECUTION.value), columns)
        side = side.where(of.changed_by.is_not(None))
        sides.append(_Side(side, _entry(of), of.at_ms, of.verb, of.execution_id, of.changed_by))
    if Kind.ITEM in kinds:
        sides.append(_of_items())
    if Kind.TOKEN in kinds:
        of = tokens.c
        sides += [
            _of_tokens(_MADE, CREATED, of.created_ms, of.created_by),
            _of_tokens(_ENDED, REVOKED, of.revoked_ms, of.revoked_by),
        ]
    return sides


def _entry(of: Any) -> tuple[Any, Any, Any]:
    return of.entry_ms, of.journal_id, of.entry_number


def _journalled(of: Any, subject: Column[Any], kind: Any, values: tuple[Any, ...]) -> Any:
    place = (of.journal_id, of.entry_ms, of.entry_number)
    columns: list[Any] = [
        *place,
        of.at_ms,
        of.verb,
        subject.label("subject"),
        kind.label("kind"),
        *values,
        of.changed_by,
    ]
    return select(*columns)


def _of_tokens(number: int, verb: str, at_ms: Column[Any], by: Column[Any]) -> _Side:
    nothing = cast(null(), Text)
    journal, entry_number = literal(_NO_JOURNAL), literal(number, BigInteger)
    columns: list[Any] = [
        *(journal.label("journal_id"), at_ms.label("entry_ms"), entry_number.label("entry_number")),
        *(at_ms.label("at_ms"), literal(verb).label("verb")),
        *(tokens.c.token_id.label("subject"), literal(Kind.TOKEN.value).label("kind")),
        *(nothing.label("value_before"), nothing.label("value_after"), nothing.label("details")),
        by.label("changed_by"),
    ]
    query = select(*columns).where(at_ms.is_not(None))
    entry = (at_ms, journal, entry_number)
    return _Side(query, entry, at_ms, literal(verb), tokens.c.token_id, by, is_of_tokens=True)


def _of_items() -> _Side:
    of = item_changes.c
    journal, entry_number = literal(_NO_JOURNAL), of.change_id + _AFTER_TOKENS
    columns: list[Any] = [
        *(journal.label("journal_id"), of.at_ms.label("entry_ms"), entry_number.label("entry_number")),
        *(of.at_ms.label("at_ms"), of.verb, of.subject, literal(Kind.ITEM.value).label("kind")),
        *(of.value_before, of.value_after, cast(null(), Text).label("details"), of.changed_by),
    ]
    return _Side(select(*columns), (of.at_ms, journal, entry_number), of.at_ms, of.verb, of.subject, of.changed_by)


def _latest(side: _Side, sought: Sought, limit: int, before: EntryPlace | None) -> Select[Any]:
    """The entries of one side that are wanted, the latest first."""
    query = side.query
    key = (*side.entry, side.subject) if side.is_of_tokens else side.entry
    if before is not None:
        # A cursor may name the journal of any number; PostgreSQL would refuse one that its column could not hold.
        numbers = (before.entry_ms, before.journal_id, before.entry_number)
        place = [literal(each, BigInteger) for each in numbers]
        query = query.where(tuple_(*key) < tuple_(*place, *([literal(before.subject)] if side.is_of_tokens else [])))
    if sought.verbs:
        query = query.where(side.verb.in_(sought.verbs))
    if sought.subject is not None:
        query = query.where(side.subject == sought.subject)
    if sought.who is not None:
        query = query.where(are_asked_by(side.by, sought.who))
    if sought.from_ms is not None:
        query = query.where(side.at_ms >= sought.from_ms)
    if sought.to_ms is not None:
        query = query.where(side.at_ms < sought.to_ms)
    order = (*side.entry, side.subject) if side.is_of_tokens else side.entry
    return query.order_by(*(each.desc() for each in order)).limit(limit)


def _read(row: Any, of_tokens: dict[str, TokenChange]) -> Audited:
    kind, before, after = Kind(row.kind), row.value_before, row.value_after
    if kind is Kind.TOKEN:
        before, after = of_tokens[row.subject].values(row.verb)
    elif kind is Kind.EXECUTION:
        before, after = _values_of_execution(row.verb, after, json.loads(row.details or "{}"))
    elif row.verb in OF_SESSIONS:
        kind = Kind.SESSION
    place = EntryPlace(row.journal_id, row.entry_ms, row.entry_number, row.subject)
    return Audited(place, row.at_ms, row.verb, row.subject, kind, before, after, row.changed_by or "")


def _values_of_execution(verb: str, state: str | None, details: dict[str, str]) -> tuple[str | None, str | None]:
    if verb == Verb.REPRIORITISE and "to" in details:
        return Priority(int(details["from"])).name, Priority(int(details["to"])).name
    return _DEAD if verb == Verb.DROP else details.get("before"), state
