"""Tells of which times the ledger lacks something: who held what then is not known for certain.

In the flow: `summing.py` asks for each wait, and counts one that overlaps such a time as incomplete. Entries are
missing that Redis dropped unread, that are damaged, or that the database refused; and whatever a server that lost its
data had not told yet.
"""

from typing import Final

from sqlalchemy import Connection, func, select

from ..schema.tables import gaps, journals
from .spans import Span

_MOST: Final = 1_000
"""If there are more gaps than these in the time that is asked for, all of it counts as one."""


class Missing:
    """The times within some time of which something is missing."""

    def __init__(self, connection: Connection, within: Span) -> None:
        """Reads them."""
        since_ms = func.coalesce(gaps.c.since_ms, gaps.c.noticed_ms)
        query = select(since_ms, gaps.c.noticed_ms)
        query = query.where(gaps.c.noticed_ms >= within.since_ms, since_ms <= within.until_ms).limit(_MOST)
        self._spans = [Span(*row) for row in connection.execute(query)]
        if len(self._spans) == _MOST:
            self._spans = [within]
        # With the first journal nothing was lost: if it had dropped entries by then, that is a gap.
        first = select(func.min(journals.c.journal_id)).scalar_subquery()
        begun_ms = select(journals.c.begun_ms).where(
            journals.c.journal_id > first, journals.c.begun_ms.between(within.since_ms, within.until_ms)
        )
        self._spans += [Span(at_ms, at_ms) for at_ms in connection.execute(begun_ms).scalars()]

    def overlaps(self, span: Span) -> bool:
        """Whether something is missing of a time."""
        return any(each.since_ms < span.until_ms and span.since_ms <= each.until_ms for each in self._spans)
