"""Waits of one page share what they read of who held what, and are told as each of them by itself."""

from random import Random

import pytest
from sqlalchemy import Connection, insert
from waited_rows import GATE, hold, listened, waits

from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.looking import execution_of
from bandmaster.ledger.schema.tables import executions, holds, journals, transitions
from bandmaster.ledger.waits import sharing
from bandmaster.ledger.waits.attributing_ended import Attributing
from bandmaster.ledger.waits.ended import Place, owners_of, page_after
from bandmaster.ledger.waits.in_force import InForce
from bandmaster.ledger.waits.sharing import SharedHolds
from bandmaster.ledger.waits.telling import Waited, waits_told
from bandmaster.scheduler.model.limits import Limits

WAITS, HOLDS, END_MS = 40, 600, 6_000
NOW = {"executions": InForce(10**6, Limits(by_operators={GATE: 3}), {}, 4, 5, ("executions",))}


@pytest.fixture
def filled(database: Database) -> Database:
    random, some = Random(5), [hold("always", 0, END_MS + 5)]
    for number in range(HOLDS):
        since_ms = random.randrange(END_MS)
        some.append(hold(f"e-{number}", since_ms, since_ms + random.randrange(1, 60)))
    some.append(hold("still", 4_000, 9_000) | {"until_ms": None, "magnitude": None})
    waited = [waits(f"w-{number}", random.randrange(1, 3_000), 3_000 + 50 * number) for number in range(WAITS)]
    steps = [step | {"entry_number": number} for number, (_, two) in enumerate(waited) for step in two]
    with database.writing() as connection:
        connection.execute(insert(journals), [{"journal_id": 1, "incarnation": "one", "begun_ms": 0}])
        connection.execute(insert(holds), some)
        connection.execute(insert(executions), [row for row, _ in waited])
        connection.execute(insert(transitions), steps)
    return database


def told(connection: Connection) -> tuple[list[Waited], int]:
    """What is told of all of them, and how many statements read holds for it."""
    page = page_after(connection, Place(1, 0, 0), 1_000)
    assert page is not None
    shared = SharedHolds(max(each.at_ms for each in page.ended))
    attributing = Attributing(connection, page.ended, owners_of(connection, page.ended), NOW, shared)
    with listened(connection) as asked:
        found = [attributing.waited(each) for each in page.ended]
    read = sum("FROM holds" in statement for statement, _ in asked.statements)
    return [each for each in found if isinstance(each, Waited)], read


def by_itself(connection: Connection, name: str) -> Waited:
    row = execution_of(connection, name)
    assert row is not None
    (one,) = waits_told(connection, row, NOW["executions"]).waits
    return one


@pytest.mark.parametrize(
    ("at_once", "kept", "is_shared"), [(10_000, 50_000, True), (300, 50_000, False), (10_000, 700, False)]
)
def test_they_are_told_as_each_by_itself_and_holds_are_read_together_unless_there_are_too_many(
    filled: Database, monkeypatch: pytest.MonkeyPatch, at_once: int, kept: int, is_shared: bool
) -> None:
    monkeypatch.setattr(sharing, "READ_AT_ONCE", at_once)
    monkeypatch.setattr(sharing, "KEPT", kept)
    with filled.reading() as connection:
        found, read = told(connection)
        assert len(found) == WAITS
        # Each by itself takes two, for the gate, the lane and everything.
        assert (read < WAITS) is is_shared
        of = page_after(connection, Place(1, 0, 0), 1_000)
        assert of is not None
        for each, ended in zip(found, of.ended, strict=True):
            alone = by_itself(connection, ended.execution_id)
            assert [(p.cause, p.name, p.ms, p.limit, p.holders, p.holder_count) for p in each.parts] == [
                (p.cause, p.name, p.ms, p.limit, p.holders, p.holder_count) for p in alone.parts
            ]
            assert not each.sampled
