"""Finds waits that have ended, in the order of the journal's entries, a page at a time.

In the flow: `summing.py` goes on where its position is. A page is a bounded number of transitions, along their primary
key; those that may have ended a wait are looked at by themselves. Nothing here writes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from sqlalchemy import Connection, select, tuple_

from ...scheduler.engine.journal import Verb
from ...scheduler.model.states import WAITING
from ..schema.tables import consumer, executions, journals, transitions, wait_positions
from ..statements import among

_OF_WAITS: Final = frozenset({Verb.ADMIT, Verb.EXPIRE, Verb.LOSE})
_ENDS: Final = _OF_WAITS | {Verb.CANCEL, Verb.REMOVE}
"""Entries that may end a wait."""
_IDS_A_QUERY: Final = 500


class Place(NamedTuple):
    """A transition's primary key."""

    journal_id: int
    entry_ms: int
    entry_number: int


class Ended(NamedTuple):
    """A transition that may have ended a wait."""

    place: Place
    execution_id: str
    verb: str
    at_ms: int

    @property
    def is_wait_for_certain(self) -> bool:
        """Whether it ended one, whatever was before: what is cancelled or removed may have run."""
        return self.verb in _OF_WAITS


@dataclass(frozen=True, slots=True)
class Page:
    """Transitions after a position."""

    since: Place
    """The position; 0 and 0: the journal's beginning."""
    until: Place
    """The last of them."""
    ended: list[Ended]
    is_full: bool
    """Whether there may be more."""


class Owner(NamedTuple):
    """Whose wait it was."""

    action: str
    user_id: str | None
    lane: str
    accepted_ms: int


def positions(connection: Connection) -> list[Place]:
    """Up to which transition each journal's waits are summed, that of the journal that is followed last."""
    followed = select(consumer.c.journal_id).scalar_subquery()
    query = select(journals.c.journal_id, wait_positions.c.entry_ms, wait_positions.c.entry_number)
    query = query.join_from(journals, wait_positions, isouter=True)
    rows = connection.execute(query.order_by(journals.c.journal_id == followed, journals.c.journal_id))
    return [Place(row.journal_id, row.entry_ms or 0, row.entry_number or 0) for row in rows]


def page_after(connection: Connection, since: Place, limit: int) -> Page | None:
    """Return the next transitions of a journal, at most `limit`; None: there are none."""
    of = transitions.c
    query = select(of.entry_ms, of.entry_number, of.execution_id, of.verb, of.state, of.at_ms).where(
        of.journal_id == since.journal_id, tuple_(of.entry_ms, of.entry_number) > tuple_(*since[1:])
    )
    rows = connection.execute(query.order_by(of.entry_ms, of.entry_number).limit(limit)).all()
    if not rows:
        return None
    ended = [
        Ended(Place(since.journal_id, row.entry_ms, row.entry_number), row.execution_id, row.verb, row.at_ms)
        for row in rows
        if row.verb in _ENDS and row.state not in WAITING
    ]
    until = Place(since.journal_id, rows[-1].entry_ms, rows[-1].entry_number)
    return Page(since, until, ended, len(rows) == limit)


def owners_of(connection: Connection, ended: Sequence[Ended]) -> dict[str, Owner]:
    """Return whose the executions are, by id; of those that were deleted, nothing."""
    of, found = executions.c, dict[str, Owner]()
    ids = iter(sorted({each.execution_id for each in ended}))
    while some := list(islice(ids, _IDS_A_QUERY)):
        query = select(of.execution_id, of.action, of.user_id, of.lane, of.accepted_ms)
        for row in connection.execute(query.where(among(connection, of.execution_id, some))):
            found[row.execution_id] = Owner(row.action, row.user_id, row.lane, row.accepted_ms or 0)
    return found


def owner_of(ended: Ended, owners: Mapping[str, Owner]) -> Owner | None:
    """Whose it was; None: nobody knows any more, as the execution that has its id now came later."""
    found = owners.get(ended.execution_id)
    return None if found is None or ended.at_ms < found.accepted_ms else found
