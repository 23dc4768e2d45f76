"""The filters of a list, and which of them a page is found by.

In the flow: `listing` asks. Each filter has an index in the order of the list, so a page costs little if it goes along
the index of the filter that keeps the fewest; along another one a database would read everything that it keeps. How
few that is is counted, up to a bound, as neither SQLite nor PostgreSQL knows it of rare values. The other filters are
hidden from the planner's choice.
"""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, func, literal, or_, select

from ..schema.tables import executions

COUNTED: Final = 5_000
"""A filter that keeps fewer is rare: all that it keeps may be sorted."""
_LAST: Final = "\U0010ffff"
"""Sorts behind every text that begins in the same way."""
_BEGINNINGS: Final = ("execution_id", "user_id", "action")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which executions are listed; None: whatever they have."""

    states: tuple[str, ...] = ()
    bands: tuple[int, ...] = ()
    user_id: str | None = None
    action: str | None = None
    lane: str | None = None
    from_ms: int | None = None
    """Accepted then or later."""
    to_ms: int | None = None
    """Accepted before."""
    text: str | None = None
    """The beginning of an id, a user or an action."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter: an execution passes if one of the conditions holds."""

    along: tuple[ColumnElement[bool], ...]
    """As an index is gone along, each by one range of it."""
    beside: ColumnElement[bool]
    """The same, and by no index."""
    is_ordered: bool
    """Whether a range is in the order of the list."""


def filters_of(wanted: Wanted) -> list[Filter]:
    """The filters that have an index, those first that mostly keep the fewest."""
    found: list[Filter] = []
    for name, value in (("user_id", wanted.user_id), ("action", wanted.action), ("lane", wanted.lane)):
        if value is not None:
            found.append(_one_of(name, (value,)))
    if wanted.states:
        found.append(_one_of("state", wanted.states))
    if wanted.bands:
        found.append(_one_of("band", wanted.bands))
    if wanted.text:
        ranges = tuple(_begins(executions.c[name], wanted.text) for name in _BEGINNINGS)
        beside = or_(*(_begins(_hidden(name), wanted.text) for name in _BEGINNINGS))
        found.append(Filter(ranges, beside, is_ordered=False))
    return found


def always(wanted: Wanted) -> ColumnElement[bool]:
    """What holds of every execution in the list, whatever index is gone along."""
    # What Redis has lost is in no state any more, whatever its row said last.
    known = [executions.c.lost_ms.is_(None)] if wanted.states else []
    return and_(within(wanted), *known)


def within(wanted: Wanted) -> ColumnElement[bool]:
    """The part of it that each index has: the time of acceptance."""
    conditions: list[ColumnElement[bool]] = [executions.c.accepted_ms.is_not(None)]
    if wanted.from_ms is not None:
        conditions.append(executions.c.accepted_ms >= wanted.from_ms)
    if wanted.to_ms is not None:
        conditions.append(executions.c.accepted_ms < wanted.to_ms)
    return and_(*conditions)


def leading(connection: Connection, filters: list[Filter], place: ColumnElement[bool]) -> Filter | None:
    """The filter whose index a page goes along; None: the list's own, which has all executions.

    Args:
        connection: Of `Asking.reading`.
        filters: Those of the list.
        place: What else the indexes tell, so that no row is read to be counted.
    """
    ordered = next((each for each in filters if each.is_ordered), None)
    if ordered is not None and len(filters) == 1:
        return ordered
    counts = [_count(connection, each, place) for each in filters]
    fewest = min(counts, default=COUNTED)
    return ordered if fewest >= COUNTED else filters[counts.index(fewest)]


def _count(connection: Connection, one: Filter, place: ColumnElement[bool]) -> int:
    found = 0
    for condition in one.along:
        part = select(literal(1)).select_from(executions).where(condition, place).limit(COUNTED - found).subquery()
        found += connection.execute(select(func.count()).select_from(part)).scalar_one()
        if found >= COUNTED:
            break
    return found


def _one_of(name: str, values: tuple[Any, ...]) -> Filter:
    column = executions.c[name]
    return Filter(tuple(column == each for each in values), _hidden(name).in_(values), is_ordered=True)


def _begins(column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    return and_(column >= text, column <= text + _LAST)


def _hidden(name: str) -> ColumnElement[Any]:
    """A column, as an expression for which no index is."""
    column = executions.c[name]
    return column + 0 if name == "band" else column.concat("")
