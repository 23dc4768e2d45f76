"""Lists executions, page by page, the latest accepted first.

In the flow: the API's lists. A page begins where another ended (keyset pagination): it costs the same however far back
it is, and what is accepted meanwhile shifts nothing. An execution whose beginning the ledger never read has no time of
acceptance, and is in no list.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, and_, func, or_, select, tuple_

from ..executions import Execution
from ..schema.tables import executions
from .filters import Wanted, always, filters_of, leading, within

COLUMNS: Final = tuple(executions.c[name] for name in Execution.__slots__)
_KEY: Final = tuple_(executions.c.accepted_ms, executions.c.execution_id)
_ORDER: Final = (executions.c.accepted_ms, executions.c.execution_id)


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
    filters, place = filters_of(wanted), within(wanted)
    if before is not None:
        place = and_(place, (before.accepted_ms, before.execution_id) > _KEY)
    if after is not None:
        place = and_(place, (after.accepted_ms, after.execution_id) < _KEY)
    backwards = after is not None
    query = select(*COLUMNS).where(place, always(wanted))
    query = query.order_by(*(_ORDER if backwards else (column.desc() for column in _ORDER))).limit(limit + 1)
    lead = leading(connection, filters, place)
    query = query.where(*(each.beside for each in filters if each is not lead))
    # Each range of the leading index is in order by itself; what is found in two is one.
    parts = [query] if lead is None else [query.where(each) for each in lead.along]
    found = {row.execution_id: row for part in parts for row in connection.execute(part)}
    rows = sorted(found.values(), key=lambda row: (row.accepted_ms, row.execution_id), reverse=not backwards)
    has_more, executions_found = len(rows) > limit, [Execution(*row) for row in rows[:limit]]
    if backwards:
        return Page(executions_found[::-1], has_earlier=True, has_later=has_more)
    return Page(executions_found, has_earlier=has_more, has_later=before is not None)


def count_executions(connection: Connection, wanted: Wanted) -> int:
    """How many executions there are in all; it reads each of them."""
    passes = [or_(*each.along) for each in filters_of(wanted)]
    counted = select(func.count()).select_from(executions).where(always(wanted), *passes)
    return connection.execute(counted).scalar_one()
