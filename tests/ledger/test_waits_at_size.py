"""Waits in a ledger with much history: along indexes, with a bounded number of rows, else a sample that says so."""

import pytest
from sqlalchemy import Connection, insert, text
from waited_rows import GATE, hold, listened, waits

from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.looking import execution_of
from bandmaster.ledger.schema.tables import changes, executions, holds, journals, transitions
from bandmaster.ledger.waits.attributing import Cause, Part
from bandmaster.ledger.waits.in_force import InForce
from bandmaster.ledger.waits.telling import MOMENTS, ROWS, Told, waits_told
from bandmaster.scheduler.model.limits import Limits

STEP_MS, HELD_MS = 10, 100
HOLDS = 12_000
"""One begins each step, so ten hold the gate at any moment, and one more all the time."""
END_MS = HOLDS * STEP_MS
CHANGED_MS = 70_000
"""When the limit was lifted."""


@pytest.fixture
def filled(database: Database) -> Database:
    some = [hold(f"e-{number}", number * STEP_MS, number * STEP_MS + HELD_MS) for number in range(HOLDS)]
    some.append(hold("long", 5, END_MS + 5))
    waited = [waits("brief", 20_000, 50_000), waits("lengthy", 10_000, 110_000), waits("later", 71_000, 71_100)]
    change = {"journal_id": 1, "verb": "limit", "changed_by": "ann"}
    lifted = {"entry_ms": CHANGED_MS, "at_ms": CHANGED_MS, "entry_number": 0, "name": GATE, "value_before": "11"}
    changed = [change | lifted | {"value_after": None}]
    for number in range(1_500):
        other = {"entry_ms": number, "at_ms": number, "entry_number": 1, "name": f"tenant:{number}"}
        changed.append(change | other | {"value_before": None, "value_after": "1"})
    others = [waits(f"other-{number}", number, number + 1) for number in range(1_500)]
    with database.writing() as connection:
        connection.execute(insert(journals), [{"journal_id": 1, "incarnation": "one", "begun_ms": 0}])
        connection.execute(insert(holds), some)
        connection.execute(insert(changes), changed)
        rows = [*waited, *others]
        connection.execute(insert(executions), [row for row, _ in rows])
        steps = [step | {"entry_number": number} for number, (_, two) in enumerate(rows) for step in two]
        connection.execute(insert(transitions), steps)
    with database.writing() as connection:
        connection.execute(text("ANALYZE"))
    return database


NOW = InForce(END_MS, Limits(), {}, None, None, ("executions",))


def told(connection: Connection, name: str) -> Told:
    row = execution_of(connection, name)
    assert row is not None
    return waits_told(connection, row, NOW)


def parts(of: Told) -> dict[Cause, Part]:
    return {part.cause: part for part in of.waits[0].parts}


def test_what_fits_is_told_exactly_and_the_rest_from_a_sample_along_indexes(filled: Database) -> None:
    with filled.reading() as connection:
        brief, lengthy, later = (told(connection, name) for name in ("brief", "lengthy", "later"))
        for name in ("brief", "lengthy", "later"):
            _reads_little(connection, name)
    assert [of.complete for of in (brief, lengthy, later)] == [True, True, True]
    assert [of.waits[0].sampled for of in (brief, lengthy, later)] == [False, True, False]

    behind = parts(brief)[Cause.GATE]
    assert (behind.ms, behind.limit, behind.holder_count) == (30_000, 11, 1 + 3_000 + 9)
    assert (behind.holders[0].execution_id, behind.holders[0].ms) == ("long", 30_000)
    assert {cause: part.ms for cause, part in parts(later).items()} == {Cause.THREAD: 100}
    assert parts(later)[Cause.THREAD].started_ahead == 10

    assert sum(part.ms for part in lengthy.waits[0].parts) == 100_000
    behind = parts(lengthy)[Cause.GATE]
    assert abs(behind.ms - (CHANGED_MS - 10_000)) <= 100_000 / MOMENTS
    assert (behind.holders[0].execution_id, behind.holders[0].ms) == ("long", behind.ms)
    assert parts(lengthy)[Cause.THREAD].started_ahead is None


def _reads_little(connection: Connection, name: str) -> None:
    with listened(connection) as asked:
        told(connection, name)
    rows, is_sqlite = 0, connection.dialect.name == "sqlite"
    scan = "SCAN {}" if is_sqlite else "Seq Scan on {}"
    for statement, values in asked.statements:
        rows += len(connection.exec_driver_sql(statement, values).all())
        explain = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN "
        plan = "\n".join(str(row[-1]) for row in connection.exec_driver_sql(explain + statement, values))
        for table in ("executions", "transitions", "holds", "changes"):
            assert scan.format(table) not in plan, plan
    assert 2 < rows <= ROWS
