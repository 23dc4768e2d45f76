"""Reads who held a gate, or a slot of a lane: during a wait, or at one moment.

In the flow: `telling.py` asks for each gate that had a limit. However many ever held a gate, an index finds those of a
moment by how long they held it (`magnitudes.py`). Nothing here writes.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    and_,
    bindparam,
    func,
    literal,
    or_,
    select,
    union_all,
)

from ..magnitudes import BASE, LAST
from ..schema.tables import holds
from .attributing import Hold
from .spans import Span

COUNTED: Final = 1_000
"""So many that began are counted, and no more."""
LANES: Final = 1_000
"""So many lanes are looked at together."""
RANGES: Final = LAST + 1
"""In so many ranges of an index those are sought that held something at a moment; of lanes, in as many for each."""
COUNTED_SPANS: Final = 20
"""In so many spans, the longest of them."""
_HOLD: Final = (holds.c.execution_id, holds.c.since_ms, holds.c.until_ms)


def of_gate(gate: str) -> ColumnElement[bool]:
    """The holds of a gate."""
    return holds.c.gate == gate


def of_lanes(lanes: Sequence[str]) -> ColumnElement[bool]:
    """Those of the slots of some lanes, of which there may be `LANES`: one condition, however many they are."""
    # By one name, so that it is the same parameter in every range of a statement.
    return holds.c.lane.in_(bindparam("lanes", list(lanes), expanding=True))


def holds_during(connection: Connection, of: ColumnElement[bool], wait: Span, most: int) -> list[Hold] | None:
    """Return those that overlap a wait; None if there are more than `most`."""
    found = [Hold(*row) for row in connection.execute(_held_at(of, wait.since_ms, *_HOLD).limit(most + 1))]
    if len(found) > most:
        return None
    begun = select(*_HOLD).where(of, holds.c.since_ms > wait.since_ms, holds.c.since_ms < wait.until_ms)
    begun = begun.order_by(holds.c.since_ms).limit(most - len(found) + 1)
    found += [Hold(*row) for row in connection.execute(begun)]
    return None if len(found) > most else found


class AtMoments:
    """Who held something at moments; what is asked is put together once: that takes longer than the answer."""

    def __init__(self, connection: Connection, of: ColumnElement[bool]) -> None:
        self._connection = connection
        at_ms, most = bindparam("at_ms", type_=BigInteger), bindparam("most", type_=Integer)
        counted = _held_at(of, at_ms, literal(1).label("one")).limit(most).subquery()
        self._count = select(func.count()).select_from(counted)
        self._ids = _held_at(of, at_ms, holds.c.execution_id).limit(most)

    def ids(self, at_ms: int, most: int) -> list[str]:
        """Return up to `most` of those that held it at a moment."""
        return list(self._connection.execute(self._ids, {"at_ms": at_ms, "most": most}).scalars())

    def count(self, at_ms: int, most: int) -> int:
        """How many held it at a moment; `most`, if there were as many or more."""
        return self._connection.execute(self._count, {"at_ms": at_ms, "most": most}).scalar_one()


def count_begun(connection: Connection, of: ColumnElement[bool], spans: tuple[Span, ...]) -> int:
    """How many began to hold it within some spans, of which the longest `COUNTED_SPANS` count; at most `COUNTED`."""
    longest = sorted(spans, key=lambda span: span.length_ms)[-COUNTED_SPANS:]
    since_ms = holds.c.since_ms
    within = or_(*(and_(since_ms >= span.since_ms, since_ms < span.until_ms) for span in longest))
    return _count(connection, select(literal(1).label("one")).select_from(holds).where(of, within).limit(COUNTED))


def _held_at(of: ColumnElement[bool], at_ms: Any, *columns: ColumnElement[Any]) -> Any:
    """One range of an index for each magnitude, and one for those that hold it still; who held it long comes first."""
    since_ms, until_ms, of_index = holds.c.since_ms, holds.c.until_ms, holds.c.magnitude
    begun = select(*columns).select_from(holds).where(of, since_ms <= at_ms)
    ranges = [
        begun.where(of_index == each, since_ms > at_ms - BASE**each, until_ms > at_ms)
        for each in reversed(range(1, LAST))
    ]
    longest = begun.where(of_index == LAST, until_ms > at_ms)
    # One that ended has no magnitude if a process of an earlier release wrote it.
    still = begun.where(of_index.is_(None), or_(until_ms.is_(None), until_ms > at_ms))
    return union_all(still, longest, *ranges)


def _count(connection: Connection, query: Any) -> int:
    counted: Select[Any] = select(func.count()).select_from(query.subquery())
    return connection.execute(counted).scalar_one()
