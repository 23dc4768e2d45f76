"""``WaitSums``: what a number of ended waits add to the sums by action, user and gate, and the rows that keep them.

In the flow: `summing.py` collects the waits of a round, and writes them in the transaction of the position up to which
they are summed: if the process dies, both are written or neither. An hour has a bounded number of rows by each; when
they are used up, whatever else it has is summed in the rows of all others, so nothing is lost but its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, select

from ...scheduler.model.limits import EVERYTHING
from ..schema.tables import wait_counts, wait_sums
from ..statements import put
from .attributing import Cause, Part
from .ended import Owner
from .summed_by import By
from .telling import Waited

HOUR_MS: Final = 3_600_000
_PLACE: Final = ("by_what", "hour_ms")
_COUNTED: Final = (("name",), ("waits", "summed", "sampled", "incomplete"))
"""What names a row, beside its place, and what is added up in it."""
_SUMMED: Final = (("name", "cause", "behind"), ("ms", "waits"))
OTHERS: Final = ""
"""The name of all that have no row of their own, and of what nobody knows any more."""


class Counted(Enum):
    """Why nothing is told of a wait."""

    INCOMPLETE = "incomplete"
    """Too little is known."""
    PASSED_OVER = "passed over"
    """There was no time for it."""
    NO_WAIT = "no wait"
    """It was none."""


@dataclass(slots=True)
class Count:
    """How many waits."""

    waits: int = 0
    """All that ended."""
    summed: int = 0
    """Of which the sums tell."""
    sampled: int = 0
    """Of these, those of which what was full is told from a sample of moments."""
    incomplete: int = 0
    """Of which too little is known. Those that are neither were passed over."""


_CountKey = tuple[By, int, str]
_SumKey = tuple[By, int, str, str, str]
"""By what, the hour, the name, the cause, and what it waited behind."""


@dataclass(slots=True)
class WaitSums:
    """What a round adds. Does no I/O."""

    counts: dict[_CountKey, Count] = field(default_factory=dict[_CountKey, Count])
    sums: dict[_SumKey, list[int]] = field(default_factory=dict[_SumKey, list[int]])
    """Milliseconds and waits."""

    def add(self, waited: Waited | Counted, at_ms: int, was: Owner | None, owner: Owner | None) -> None:
        """Add a wait.

        Args:
            waited: What it waited for, or that nothing is told of it.
            at_ms: When it ended.
            was: Whose it was when it was attributed.
            owner: Whose it is now, which may have another name; None: nobody knows any more.
        """
        if waited is Counted.NO_WAIT:
            return
        action, user_id = (OTHERS, None) if owner is None else owner[:2]
        hour_ms, named = hour_of(at_ms), [(By.ACTION, action), *([(By.USER, user_id)] if user_id else [])]
        for by, name in named:
            count = self.counts.setdefault((by, hour_ms, name), Count())
            count.waits += 1
            count.incomplete += waited is Counted.INCOMPLETE
            if isinstance(waited, Waited):
                count.summed += 1
                count.sampled += waited.sampled
        if isinstance(waited, Waited):
            names = {f"user:{was.user_id}": f"user:{user_id}"} if was is not None else {}
            for part in waited.parts:
                behind = behind_of(part)
                behind = names.get(behind, behind)
                for by, name in named:
                    self._sum((by, hour_ms, name, part.cause, behind), part.ms)
                if behind:
                    self._sum((By.GATE, hour_ms, behind, part.cause, ""), part.ms)

    def _sum(self, key: _SumKey, ms: int) -> None:
        found = self.sums.setdefault(key, [0, 0])
        found[0] += ms
        found[1] += 1


def hour_of(at_ms: int) -> int:
    """The hour of a time, in Unix milliseconds."""
    return at_ms // HOUR_MS * HOUR_MS


def behind_of(part: Part) -> str:
    """What it waited behind, as it is named for a pause; empty: behind nothing that has a name."""
    if part.cause is Cause.LANE:
        return f"lane:{part.name}"
    return EVERYTHING if part.cause is Cause.EVERYTHING else part.name


def write_sums(connection: Connection, sums: WaitSums, most: int) -> None:
    """Add what a round collected to the rows that are there.

    Args:
        connection: Of the consumer's transaction.
        sums: What is added.
        most: How many rows of an hour have names, by each.
    """
    counts: dict[Any, list[int]] = {
        key: [count.waits, count.summed, count.sampled, count.incomplete] for key, count in sums.counts.items()
    }
    _add(connection, wait_counts, *_COUNTED, counts, most)
    _add(connection, wait_sums, *_SUMMED, dict(sums.sums), most)


def rename_user(connection: Connection, user_id: str, other: str) -> None:
    """Give what is summed of a user another name; what was summed by that name meanwhile is added.

    Args:
        connection: Of a transaction that holds the consumer's row, so that no round is under way.
        user_id: Whose sums.
        other: The new name, of a user.
    """
    gate, other_gate = f"user:{user_id}", f"user:{other}"
    for table, (keys, added) in {wait_counts: _COUNTED, wait_sums: _SUMMED}.items():
        gates = [each for each in keys if each != "cause"]
        is_named = (table.c.by_what == By.USER) & (table.c.name == user_id)
        for column in gates:
            is_named |= table.c[column] == gate
        found = connection.execute(select(table).where(is_named)).mappings().all()
        connection.execute(delete(table).where(is_named))
        sums: dict[tuple[Any, ...], list[int]] = {}
        for row in map(dict, found):
            if row["by_what"] == By.USER and row["name"] == user_id:
                row["name"] = other
            row |= {column: other_gate for column in gates if row[column] == gate}
            place = tuple(row[each] for each in (*_PLACE, *keys))
            there = sums.get(place, [0] * len(added))
            sums[place] = [count + row[each] for count, each in zip(there, added, strict=True)]
        _put(connection, table, keys, added, sums)


def _put(
    connection: Connection,
    table: Table,
    named: tuple[str, ...],
    added: tuple[str, ...],
    sums: Mapping[tuple[Any, ...], Sequence[int]],
) -> None:
    keys = (*_PLACE, *named)
    rows = [dict(zip((*keys, *added), (*place, *values), strict=True)) for place, values in sums.items()]
    put(connection, table, rows, keys=keys, added=added)


def _add(
    connection: Connection,
    table: Table,
    named: tuple[str, ...],
    added: tuple[str, ...],
    collected: dict[Any, list[int]],
    most: int,
) -> None:
    place_of = _places(connection, table, named, most)
    rows: dict[tuple[Any, ...], list[int]] = {}
    # The greatest first, if not all of them get a row.
    for key, values in sorted(collected.items(), key=lambda each: (-each[1][0], each[0])):
        by, hour_ms, *rest = key
        place = (by, hour_ms, *place_of(by, hour_ms, tuple(rest)))
        there = rows.setdefault(place, [0] * len(values))
        rows[place] = [one + other for one, other in zip(there, values, strict=True)]
    _put(connection, table, named, added, {(str(by), *place): values for (by, *place), values in rows.items()})


def _places(
    connection: Connection, table: Table, named: tuple[str, ...], most: int
) -> Callable[[By, int, tuple[str, ...]], tuple[str, ...]]:
    """Return a function that finds the row for a name: its own, or that of all others."""
    known: dict[tuple[By, int], set[tuple[str, ...]]] = {}

    def place_of(by: By, hour_ms: int, wanted: tuple[str, ...]) -> tuple[str, ...]:
        if (by, hour_ms) not in known:
            of_hour = select(*(table.c[name] for name in named)).where(
                table.c.by_what == str(by), table.c.hour_ms == hour_ms, table.c.name != OTHERS
            )
            known[by, hour_ms] = {tuple(row) for row in connection.execute(of_hour)}
        there = known[by, hour_ms]
        if wanted not in there:
            if wanted[0] == OTHERS or len(there) >= most:
                # Its cause is told all the same.
                return (OTHERS, *wanted[1:2], *("" for _ in wanted[2:]))
            there.add(wanted)
        return wanted

    return place_of
