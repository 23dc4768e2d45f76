"""Sixteen claimers in four processes, and five hundred items: each is handed out once, and nobody is told of a lock."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from work_items import add, make, rows

from bandmaster.items.claiming import Claim, claim_all
from bandmaster.items.opened import Items
from bandmaster.items.states import Status
from bandmaster.ledger.database import Database

PROGRAM: Final = Path(__file__).parent / "claiming_process.py"
ITEMS: Final = 500
PROCESSES: Final = 4
ROBOTS: Final = 16


@pytest.mark.slow
def test_each_item_is_handed_out_once(items: Items, database: Database, ledger_url: str) -> None:
    queue = make(items)
    for number in range(ITEMS):
        add(items, queue, payload=number)
    each = ROBOTS // PROCESSES
    processes = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), ledger_url, str(number * each), str(each)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES
    handed_out = Counter(item_id for text in said for of_robot in json.loads(text) for item_id in of_robot)
    assert len(handed_out) == ITEMS
    assert set(handed_out.values()) == {1}
    kept = rows(database)
    assert {row["status"] for row in kept} == {Status.DONE}
    assert {row["fence"] for row in kept} == {1}


def test_claims_that_come_together_are_one_transaction(items: Items, database: Database) -> None:
    queue = make(items)
    for number in range(5):
        add(items, queue, payload=number)
    claims = [Claim("invoices", f"robot-{number}", count=2, lease_seconds=10 + number) for number in range(4)]
    claims.insert(1, Claim("none", "robot-x"))
    with database.writing() as connection:
        claim_all(connection, claims)
    assert [[item.payload for item in claim.items] for claim in claims] == [["0", "1"], [], ["2", "3"], ["4"], []]
    assert claims[1].refused is not None
    for claim in claims:
        for item in claim.items:
            assert item.locked_by_robot_id == claim.robot_id
            assert (item.locked_until_ms or 0) - (item.locked_at_ms or 0) == (claim.lease_seconds or 0) * 1000
    kept = {row["payload"]: row["locked_by_robot_id"] for row in rows(database)}
    assert kept == {"0": "robot-0", "1": "robot-0", "2": "robot-1", "3": "robot-1", "4": "robot-2"}
