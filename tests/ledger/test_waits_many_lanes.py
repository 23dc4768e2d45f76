"""A wait for a slot of any lane, of many: those of all lanes are asked for at once, and the answer is the same."""

import pytest
from sqlalchemy import Connection, insert, text
from waited_rows import hold, listened, waits

from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.looking import execution_of
from bandmaster.ledger.schema.tables import executions, holds, journals, transitions
from bandmaster.ledger.waits.attributing import Cause
from bandmaster.ledger.waits.holding import LANES
from bandmaster.ledger.waits.in_force import InForce
from bandmaster.ledger.waits.telling import Told, waits_told
from bandmaster.scheduler.model.limits import Limits

SOME = 500
LONG_MS, BUSY_MS = 100_000, 10
"""How long it waited, and how long each of those before it held its slot where they are too many to be read."""


def names(count: int) -> tuple[str, ...]:
    return tuple(f"lane-{number}" for number in range(count))


@pytest.fixture
def filled(database: Database) -> Database:
    """In each lane one held its slot all the time, in the last until half of the wait; in another many, one by one."""
    lanes = names(SOME)
    some = [hold(f"in-{lane}", 0, 60_000 if lane == lanes[-1] else 200_000, lane=lane) for lane in lanes]
    some += [hold(f"busy-{at_ms}", at_ms, at_ms + BUSY_MS, lane="busy") for at_ms in range(0, 200_000, BUSY_MS)]
    row, steps = waits("waits", 10_000, 10_000 + LONG_MS)
    with database.writing() as connection:
        connection.execute(insert(journals), [{"journal_id": 1, "incarnation": "one", "begun_ms": 0}])
        connection.execute(insert(holds), some)
        connection.execute(insert(executions), [row])
        connection.execute(insert(transitions), steps)
    with database.writing() as connection:
        connection.execute(text("ANALYZE"))
    return database


def told(connection: Connection, lanes: tuple[str, ...], limit: int) -> Told:
    row = execution_of(connection, "waits")
    assert row is not None
    return waits_told(connection, row, InForce(200_000, Limits(), {}, None, limit, lanes))


@pytest.mark.parametrize(("more", "is_sampled"), [((), False), (("busy",), True)])
def test_many_lanes_take_as_many_statements_as_one_and_all_of_them_count(
    filled: Database, more: tuple[str, ...], is_sampled: bool
) -> None:
    lanes = (*names(SOME), *more)
    with filled.reading() as connection:
        with listened(connection) as of_one:
            told(connection, ("lane-1", *more), 1 + len(more))
        with listened(connection) as of_many:
            (wait,) = told(connection, lanes, len(lanes)).waits
    assert wait.sampled == is_sampled
    assert len(of_many.statements) <= len(of_one.statements) + 1
    parts = {part.cause: part for part in wait.parts}
    assert set(parts) == {Cause.EVERYTHING, Cause.THREAD}
    # In a sample, to a moment.
    assert abs(parts[Cause.EVERYTHING].ms - 50_000) <= (LONG_MS / 4 if is_sampled else 0)
    assert (parts[Cause.EVERYTHING].limit, parts[Cause.EVERYTHING].holder_count) == (len(lanes), len(lanes))


def test_of_more_lanes_than_are_looked_at_it_says_that_it_is_no_whole_answer(filled: Database) -> None:
    with filled.reading() as connection:
        (within,) = told(connection, names(LANES), SOME).waits
        (beyond,) = told(connection, names(LANES + 1), SOME).waits
    assert (within.sampled, beyond.sampled) == (False, True)
