"""However long its waits, however high the limits: for one answer no more rows are read than are allowed."""

from collections.abc import Mapping
from itertools import product

import pytest
from sqlalchemy import Connection, insert, update
from waited_rows import GATE, hold, listened, waits

from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.looking import execution_of
from bandmaster.ledger.schema.tables import executions, holds, journals, transitions
from bandmaster.ledger.waits.attributing import Cause
from bandmaster.ledger.waits.in_force import InForce
from bandmaster.ledger.waits.telling import MOMENTS, ROWS, WAITS, Told, waits_told
from bandmaster.scheduler.model.limits import Limits
from bandmaster.scheduler.model.rates import Rate, Rates

HELD, WAIT_MS = 9_000, 2_000
"""So many hold the gate all the time; and as many begin in the lane, one each millisecond, until the last wait ends."""
ATTEMPTS = WAITS


@pytest.fixture
def filled(database: Database) -> Database:
    end_ms = WAIT_MS * (ATTEMPTS + 2)
    some = [hold(f"held-{number}", 0, end_ms) for number in range(HELD)]
    some += [hold(f"begun-{at_ms}", at_ms, at_ms + 1, gate="action:brief") for at_ms in range(1, end_ms)]
    row, _ = waits("waits", 1, end_ms)
    often, steps = waits("often", 1, end_ms)
    for attempt in range(ATTEMPTS):
        at_ms = 1 + attempt * WAIT_MS
        verbs = ((at_ms, "retry", "PENDING", attempt), (at_ms + WAIT_MS, "admit", "RUNNING", attempt + 1))
        names = ("at_ms", "verb", "state", "attempt")
        steps += [
            steps[0] | {"entry_ms": each[0], "entry_number": 21 - number} | dict(zip(names, each, strict=True))
            for number, each in enumerate(verbs)
        ]
    _, once = waits("waits", 1, end_ms)
    with database.writing() as connection:
        connection.execute(insert(journals), [{"journal_id": 1, "incarnation": "one", "begun_ms": 0}])
        connection.execute(insert(holds), some)
        connection.execute(insert(executions), [row, often])
        connection.execute(insert(transitions), [*steps[2:], *once])
    return database


def read(
    connection: Connection, name: str, limit: int | None, rates: Mapping[str, Rate] | None = None
) -> tuple[Told, int]:
    """What is told, and how many rows were read for it: returned, or counted by the database."""
    by_operators = {} if limit is None else {GATE: limit}
    with listened(connection) as asked:
        row = execution_of(connection, name)
        assert row is not None
        now = InForce(10**6, Limits(by_operators=by_operators), {}, None, None, (), Rates(rates or {}))
        told = waits_told(connection, row, now)
    rows = 0
    for statement, values in asked.statements:
        found = connection.exec_driver_sql(statement, values).all()
        rows += len(found) + (int(found[0][0]) if statement.startswith("SELECT count(") else 0)
    return told, rows


def test_no_more_rows_are_read_than_are_allowed(filled: Database, subtests: pytest.Subtests) -> None:
    for name, limit in product(("waits", "often"), (None, 10, 1_000, 2_500, HELD)):
        with subtests.test(name=name, limit=limit), filled.reading() as connection:
            told, rows = read(connection, name, limit)
            assert len(told.waits) > 0
            # As many as a high limit allows have to be counted, at one moment.
            assert rows <= ROWS + max(0, (limit or 0) - ROWS // 2)
            for each in told.waits:
                assert sum(part.ms for part in each.parts) == each.wait.span.length_ms
            # It always was full, and that is known at one moment at least, however high the limit.
            if limit is not None:
                latest = told.waits[-1]
                assert latest.sampled
                assert {part.cause for part in latest.parts} == {Cause.GATE}


@pytest.mark.slow
def test_nor_for_the_grants_of_a_gate_with_a_rate(filled: Database, subtests: pytest.Subtests) -> None:
    with filled.writing() as connection:
        # The gate of those that begin one each millisecond: faster than the one rate, which so was used up always.
        connection.execute(update(holds).where(holds.c.gate == "action:brief").values(gate="user:ann"))
        connection.execute(update(executions).values(user_id="ann"))
    rates = (("1/5ms burst 2", Cause.RATE), ("2/ms burst 9000", None))
    for name, limit, (rate, cause) in product(("waits", "often"), (None, HELD), rates):
        with subtests.test(name=name, limit=limit, rate=rate), filled.reading() as connection:
            told, rows = read(connection, name, limit, {"user:ann": Rate.read(rate)})
            assert len(told.waits) > 0
            assert rows <= ROWS + max(0, (limit or 0) - ROWS // 2)
            latest = told.waits[-1]
            for each in told.waits:
                assert sum(part.ms for part in each.parts) == each.wait.span.length_ms
            expected = cause or (Cause.THREAD if limit is None else Cause.GATE)
            assert max(latest.parts, key=lambda part: part.ms).cause is expected
            assert latest.sampled or name == "often"


def test_the_more_lanes_are_counted_together_the_fewer_moments_are_looked_at(database: Database) -> None:
    lanes, end_ms = tuple(f"lane-{number}" for number in range(300)), 8_000
    some = [hold(f"e-{at_ms}", at_ms, at_ms + 10, lane=lanes[at_ms % len(lanes)]) for at_ms in range(end_ms)]
    row, steps = waits("waits", 100, end_ms)
    with database.writing() as connection:
        connection.execute(insert(journals), [{"journal_id": 1, "incarnation": "one", "begun_ms": 0}])
        connection.execute(insert(holds), some)
        connection.execute(insert(executions), [row])
        connection.execute(insert(transitions), steps)
    with database.reading() as connection, listened(connection) as asked:
        found = execution_of(connection, "waits")
        assert found is not None
        told = waits_told(connection, found, InForce(10**6, Limits(), {}, None, 10, lanes))
    assert told.waits[0].sampled
    assert {part.cause for part in told.waits[0].parts} == {Cause.EVERYTHING}
    counts = [statement for statement, _ in asked.statements if statement.startswith("SELECT count(")]
    assert len(counts) <= MOMENTS // 8
