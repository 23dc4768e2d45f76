"""Lists of executions: each filter and pair of filters says what a naive list says, and a page goes along an index."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations, product
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, text

from bandmaster.ledger.database import Database
from bandmaster.ledger.executions import Execution
from bandmaster.ledger.queries.filters import COUNTED, Wanted
from bandmaster.ledger.queries.listing import Place, count_executions, executions_page
from bandmaster.ledger.schema.tables import executions

COMMON = COUNTED + 2_000
"""So many that none of their filters is rare."""
RARE = 30


def row(number: int, **fields: Any) -> dict[str, Any]:
    one = Execution(
        execution_id=f"e-{number:06}",
        lane="executions",
        action="resize",
        user_id="ann",
        band=2,
        state="COMPLETED",
        attempt=1,
        accepted_ms=1_000 + number // 3,
        ended_ms=9_000_000,
    )
    return {name: getattr(replace(one, **fields), name) for name in Execution.__slots__}


@pytest.fixture
def filled(database: Database) -> Database:
    """Many alike, and a few of each other kind, all of them old: a walk along all would come to them last."""
    rare: list[dict[str, Any]] = []
    for field, value in (("lane", "mail"), ("action", "Zip_%"), ("user_id", "böb"), ("band", 0), ("state", "FAILED")):
        rare += [row(len(rare) + number, **{field: value}) for number in range(RARE)]
    rare += [row(len(rare) + number, execution_id=f"x-{number}") for number in range(RARE)]
    common = [row(len(rare) + number) for number in range(COMMON)]
    with database.writing() as connection:
        connection.execute(insert(executions), rare + common)
    with database.writing() as connection:
        connection.execute(text("ANALYZE"))
    return database


FILTERS: dict[str, dict[str, Any]] = {
    "lane": {"lane": "mail"},
    "action": {"action": "Zip_%"},
    "user": {"user_id": "böb"},
    "band": {"bands": (0,)},
    "bands": {"bands": (0, 2)},
    "state": {"states": ("FAILED",)},
    "states": {"states": ("FAILED", "COMPLETED")},
    "time": {"from_ms": 1_010, "to_ms": 1_100},
    "id": {"text": "x-"},
    "beginning of a user": {"text": "b"},
    "beginning of an action": {"text": "Zip_"},
    "beginning of all": {"text": "e-"},
    "common user": {"user_id": "ann"},
    "common lane": {"lane": "executions"},
}


def passes(wanted: Wanted, one: dict[str, Any]) -> bool:
    texts = (one["execution_id"], one["user_id"] or "", one["action"])
    return (
        wanted.user_id in (None, one["user_id"])
        and wanted.action in (None, one["action"])
        and wanted.lane in (None, one["lane"])
        and (not wanted.states or one["state"] in wanted.states)
        and (not wanted.bands or one["band"] in wanted.bands)
        and (wanted.from_ms is None or one["accepted_ms"] >= wanted.from_ms)
        and (wanted.to_ms is None or one["accepted_ms"] < wanted.to_ms)
        and (wanted.text is None or any(each.startswith(wanted.text) for each in texts))
    )


def test_pages_say_what_a_naive_list_says(filled: Database) -> None:
    chance = Random(7)
    with filled.reading() as connection:
        rows = [dict(each) for each in connection.execute(executions.select()).mappings()]
        rows.sort(key=lambda one: (one["accepted_ms"], one["execution_id"]), reverse=True)
        for names in [*((name,) for name in FILTERS), *combinations(FILTERS, 2)]:
            wanted = Wanted(**{name: value for each in names for name, value in FILTERS[each].items()})
            expected = [one["execution_id"] for one in rows if passes(wanted, one)]
            assert count_executions(connection, wanted) == len(expected), names
            page = executions_page(connection, wanted, 20)
            assert [one.execution_id for one in page.rows] == expected[:20], names
            if len(expected) < 45:
                continue
            at = chance.randrange(20, len(expected) - 21)
            middle = next(one for one in rows if one["execution_id"] == expected[at])
            place = Place(middle["accepted_ms"], middle["execution_id"])
            earlier = executions_page(connection, wanted, 20, before=place)
            assert [one.execution_id for one in earlier.rows] == expected[at + 1 : at + 21], names
            later = executions_page(connection, wanted, 20, after=place)
            assert [one.execution_id for one in later.rows] == expected[at - 20 : at], names
            assert later.has_earlier
            assert earlier.has_later


@contextmanager
def explained(connection: Connection) -> Generator[list[str]]:
    """The plan of each query that lists, as the database says it."""
    plans: list[str] = []
    is_sqlite = connection.dialect.name == "sqlite"
    asks = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN "

    def explain(_: Connection, cursor: Any, statement: str, parameters: Any, __: Any, ___: bool) -> None:
        # What is common may be counted by looking at the first of all.
        if "FROM executions" in statement and "count(*)" not in statement and not statement.startswith(asks):
            with_own = cursor.connection.cursor()
            with_own.execute(asks + statement, parameters)
            plans.append("\n".join(str(each[-1]) for each in with_own.fetchall()))

    event.listen(connection, "before_cursor_execute", explain)
    try:
        yield plans
    finally:
        event.remove(connection, "before_cursor_execute", explain)


RARE_ONES = ("lane", "action", "user", "band", "state", "time", "id", "beginning of a user", "beginning of an action")
BESIDE: tuple[dict[str, Any], ...] = ({}, {"lane": "executions"}, {"user_id": "ann"})


def test_what_is_rare_is_found_along_an_index_and_not_by_looking_at_all(filled: Database) -> None:
    for name, beside in product(RARE_ONES, BESIDE):
        with filled.reading() as connection, explained(connection) as plans:
            executions_page(connection, Wanted(**beside | FILTERS[name]), 20)
        assert plans
        for plan in plans:
            looks_at_all = "SCAN executions" if filled.is_sqlite else "Seq Scan on executions"
            assert looks_at_all not in plan, (name, beside, plan)


def test_a_text_is_taken_by_the_letter(filled: Database) -> None:
    with filled.reading() as connection:
        for asked, found in (("Zip_", RARE), ("zip", 0), ("Zip%", 0), ("E-", 0), ("bö", RARE), ("b_", 0)):
            assert count_executions(connection, Wanted(text=asked)) == found, asked
