"""Reads the rows that a page of the journal is about, and writes what a batch makes of them.

In the flow: `book.py` calls both within one transaction. Each table is written by one statement for all its rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from typing import Final

from sqlalchemy import Connection, bindparam, literal, select, update

from ..scheduler.engine.journal import JournalEntry
from .batch import Batch, Hold
from .executions import Execution
from .figures import write_figures
from .magnitudes import magnitude_of
from .reviving import judge_revived
from .schema.tables import changes, consumer, executions, holds, transitions
from .statements import among, put
from .totals import write_totals

_COLUMNS: Final = tuple(one.name for one in fields(Execution))
_VALUES: Final = attrgetter(*_COLUMNS)  # a third of the time of `asdict`, which copies what it finds
_IDS_A_QUERY: Final = 500
_HOLD: Final = ("execution_id", "attempt", "since_ms", "gate")
_OF_HOLD: Final = ("until_ms", "magnitude", "lane")
_ENDED: Final = (
    update(holds)
    .where(
        holds.c.execution_id == bindparam("of_execution"),
        holds.c.attempt == bindparam("of_attempt"),
        holds.c.since_ms == bindparam("from_ms"),
    )
    .values(until_ms=bindparam("ended_ms"), magnitude=bindparam("ended_magnitude"))
)


def known(connection: Connection, entries: Iterable[JournalEntry]) -> dict[str, Execution]:
    """Return the rows of the executions that entries name, by id."""
    return known_by_id(connection, {entry.execution_id for entry in entries if entry.execution_id})


def known_by_id(connection: Connection, execution_ids: Iterable[str]) -> dict[str, Execution]:
    """Return the rows of executions, by id; those that are unknown are left out."""
    ids, found = iter(sorted(execution_ids)), dict[str, Execution]()
    columns = [executions.c[name] for name in _COLUMNS]
    while some := list(islice(ids, _IDS_A_QUERY)):
        rows = connection.execute(select(*columns).where(among(connection, executions.c.execution_id, some)))
        found |= {row.execution_id: Execution(*row) for row in rows}
    return found


def count_written(connection: Connection, entries: Sequence[JournalEntry], *, was_followed: bool) -> int:
    """How many entries there are up to the last that is in the ledger, under whatever journal, or was and is forgotten.

    One before it that is not was refused, or tells of nothing that a table has.

    Args:
        connection: Of the ledger.
        entries: Of the journal that is to be followed.
        was_followed: Whether it was before, under this name. What a new one tells is new, whatever its server's clock
            says.
    """
    if not entries:
        return 0
    forgotten_ms = -1
    if was_followed:
        forgotten_ms = connection.execute(select(consumer.c.forgotten_ms)).scalar_one_or_none() or -1
    first_ms, last_ms = (int(entry.entry_id.partition("-")[0]) for entry in (entries[0], entries[-1]))
    written = set[tuple[str, str, str]]()
    for table, of in ((transitions, transitions.c.execution_id), (changes, literal(""))):
        found = select(table.c.entry_ms, table.c.entry_number, table.c.verb, of)
        for entry_ms, number, verb, execution_id in connection.execute(
            found.where(table.c.entry_ms.between(first_ms, last_ms))
        ):
            written.add((f"{entry_ms}-{number}", verb, execution_id))

    def is_written(entry: JournalEntry) -> bool:
        return entry.at_ms <= forgotten_ms or (entry.entry_id, entry.verb, entry.execution_id) in written

    return max((number for number, entry in enumerate(entries, start=1) if is_written(entry)), default=0)


def write(connection: Connection, batch: Batch) -> None:
    """Write all rows of a batch."""
    judge_revived(connection, batch.executions.values(), batch.revived, batch.journal_id)
    write_executions(connection, [batch.executions[one] for one in sorted(batch.changed)])
    put(connection, transitions, batch.transitions)
    put(connection, changes, batch.changes)
    if batch.ended:
        connection.execute(_ENDED, batch.ended)
    write_holds(connection, batch.holds)
    write_figures(connection, batch.figures)
    write_totals(connection, batch.totals)


def write_executions(connection: Connection, rows: Iterable[Execution]) -> None:
    """Write the rows of executions, in place of those that are there."""
    written = [dict(zip(_COLUMNS, _VALUES(row), strict=True)) for row in rows]
    put(connection, executions, written, keys=["execution_id"])


def write_holds(connection: Connection, begun: Iterable[Hold]) -> None:
    """Write holds that begin, a row for each gate."""
    # A hold that begins twice in one millisecond, as when Redis is rebuilt twice, is one.
    rows = {
        (hold.execution_id, hold.attempt, hold.since_ms, gate): (
            hold.until_ms,
            None if hold.until_ms is None else magnitude_of(hold.until_ms - hold.since_ms),
            hold.lane if number == 0 else None,
        )
        for hold in begun
        for number, gate in enumerate(hold.gates)
    }
    put(
        connection,
        holds,
        [dict(zip((*_HOLD, *_OF_HOLD), (*key, *values), strict=True)) for key, values in rows.items()],
        keys=_HOLD,
    )
