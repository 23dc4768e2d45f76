"""``SharedHolds``: who held what, read once for all waits of a page that overlap.

In the flow: `summing.py` has one for each page, in whose rounds `telling.py` asks it. Hundreds that wait behind one
gate end soon after each other, and each has to know who held it meanwhile: nearly the same for all of them. What is
kept goes up to the end of the page's last wait. It stays right while the journal is read on: what ends later, held it
until then.
"""

from bisect import bisect_left
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection

from .attributing import Hold
from .holding import holds_during
from .spans import Span

READ_AT_ONCE: Final = 10_000
"""So many holds of one gate or lane are shared; if there are more, each wait reads its own."""
KEPT: Final = 50_000
"""So many of all of them are kept for a page."""


class _Read(NamedTuple):
    span: Span
    holds: list[Hold]
    """All that overlap it, by when they began."""
    begins: list[int]


class SharedHolds:
    """Those of the waits of one page."""

    def __init__(self, until_ms: int) -> None:
        """Reads nothing.

        Args:
            until_ms: When the last wait ended.
        """
        self._until_ms = until_ms
        self._read: dict[tuple[str, str], _Read | None] = {}
        """By cause and name; None: they are too many."""
        self._kept = 0

    def during(
        self, connection: Connection, key: tuple[str, str], of: ColumnElement[bool], wait: Span, most: int
    ) -> list[Hold] | None:
        """Return those that overlap a wait; None if there are more than `most`.

        Args:
            connection: Of a transaction that reads.
            key: What names them: the cause and the name of what they held.
            of: The condition by which they are found.
            wait: From when to when.
            most: So many are looked at for one wait.
        """
        read = self._read.get(key)
        if key not in self._read or (read is not None and not _covers(read.span, wait)):
            read = self._read[key] = self._more(connection, of, wait, read)
        if read is None:
            return holds_during(connection, of, wait, most)
        first, last = bisect_left(read.begins, wait.since_ms + 1), bisect_left(read.begins, wait.until_ms)
        still = [each for each in read.holds[:first] if each.until_ms is None or each.until_ms > wait.since_ms]
        found = still + read.holds[first:last]
        return None if len(found) > most else found

    def _more(self, connection: Connection, of: ColumnElement[bool], wait: Span, before: _Read | None) -> _Read | None:
        span = Span(wait.since_ms, max(wait.until_ms, self._until_ms))
        if before is not None:
            span = Span(min(span.since_ms, before.span.since_ms), max(span.until_ms, before.span.until_ms))
            self._kept -= len(before.holds)
        most = min(READ_AT_ONCE, KEPT - self._kept)
        holds = holds_during(connection, of, span, most)
        if holds is None:
            return None
        self._kept += len(holds)
        holds.sort(key=lambda each: each.since_ms)
        return _Read(span, holds, [each.since_ms for each in holds])


def _covers(some: Span, other: Span) -> bool:
    return some.since_ms <= other.since_ms and other.until_ms <= some.until_ms
