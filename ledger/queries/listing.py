"""Lists executions, page by page, the latest accepted first.

In the flow: the API's lists. A page begins where another ended (keyset pagination): it costs the same however far back
it is, and what is accepted meanwhile shifts nothing. An execution whose beginning the ledger never read has no time of
acceptance, and is in no list.
"""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select, tuple_

from ..executions import Execution
from ..schema.tables import executions

COLUMNS: Final = tuple(executions.c[name] for name in Execution.__slots__)
_LAST: Final = "\U0010ffff"
"""Sorts behind every text that begins in the same way."""


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
class Place:
    """Where a page begins or ends."""

    accepted_ms: int
    execution_id: str


@dataclass(frozen=True, slots=True)
class Page:
    """Executions, the latest accepted first."""

    rows: list[Execution]
    has_earlier: bool
    has_later: bool


def executions_page(
    connection: Connection, wanted: Wanted, limit: int, *, before: Place | None = None, after: Place | None = None
) -> Page:
    """Return a page.

    Args:
        connection: Of `Asking.reading`.
        wanted: Which executions.
        limit: How many at most.
        before: List those accepted before this place; None: the latest.
        after: List those accepted after this place, the nearest of them; the page is in the same order.
    """
    key = tuple_(executions.c.accepted_ms, executions.c.execution_id)
    query = _of(wanted, is_sqlite=_is_sqlite(connection))
    backwards = after is not None
    if before is not None:
        query = query.where(key < (before.accepted_ms, before.execution_id))
    if after is not None:
        query = query.where(key > (after.accepted_ms, after.execution_id))
        query = query.order_by(executions.c.accepted_ms, executions.c.execution_id)
    else:
        query = query.order_by(executions.c.accepted_ms.desc(), executions.c.execution_id.desc())
    rows = [Execution(*row) for row in connection.execute(query.limit(limit + 1))]
    has_more, rows = len(rows) > limit, rows[:limit]
    if backwards:
        return Page(rows[::-1], has_earlier=True, has_later=has_more)
    return Page(rows, has_earlier=has_more, has_later=before is not None)


def count_executions(connection: Connection, wanted: Wanted) -> int:
    """How many executions there are in all; it reads each of them."""
    listed = _of(wanted, is_sqlite=_is_sqlite(connection)).subquery()
    return connection.execute(select(func.count()).select_from(listed)).scalar_one()


def _is_sqlite(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"


def _of(wanted: Wanted, *, is_sqlite: bool) -> Select[Any]:
    query = select(*COLUMNS).where(executions.c.accepted_ms.is_not(None))
    for column, value in (("user_id", wanted.user_id), ("action", wanted.action), ("lane", wanted.lane)):
        if value is not None:
            query = query.where(executions.c[column] == value)
    if wanted.states:
        # What Redis has lost is in no state any more, whatever its row said last.
        query = query.where(executions.c.state.in_(wanted.states), executions.c.lost_ms.is_(None))
    if wanted.bands:
        query = query.where(executions.c.band.in_(wanted.bands))
    if wanted.from_ms is not None:
        query = query.where(executions.c.accepted_ms >= wanted.from_ms)
    if wanted.to_ms is not None:
        query = query.where(executions.c.accepted_ms < wanted.to_ms)
    if wanted.text:
        names = ("execution_id", "user_id", "action")
        query = query.where(or_(*(_begins(name, wanted.text, is_sqlite=is_sqlite) for name in names)))
    return query


def _begins(name: str, text: str, *, is_sqlite: bool) -> ColumnElement[bool]:
    column = executions.c[name]
    # SQLite's LIKE takes "A" for "a", and no index; PostgreSQL's order of texts, not its LIKE, depends on its locale.
    return column.between(text, text + _LAST) if is_sqlite else column.startswith(text, autoescape=True)
