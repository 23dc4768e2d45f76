"""Measures how long the API's lists take over a ledger of 1,000,000 executions, and the status of the queue.

The table is filled in advance, with users, actions and states as they might be; each kind of page is asked some times.
"""

from pathlib import Path
from statistics import median
from typing import Final

from sqlalchemy import insert

from bandmaster.ledger.database import Database
from bandmaster.ledger.executions import Execution
from bandmaster.ledger.schema.tables import executions
from bandmaster.ledger.schema.upgrading import upgrade

from .api_calls import Calls, served
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

_NOW_MS: Final = 1_790_000_000_000
_STATES: Final = ("COMPLETED",) * 96 + ("FAILED", "CANCELLED", "RUNNING", "PENDING")
_RARE_FROM: Final = 10_000
"""Behind the latest, where a walk along all would come last."""
_AT_ONCE: Final = 20_000
ALL: Final = "/api/v1/admin/executions/?limit=50"
PAGES: Final = {
    "latest": ALL,
    "by status": f"{ALL}&status=FAILED",
    "by user": f"{ALL}&user=user-7",
    "by action and status": f"{ALL}&action=action-3&status=CANCELLED",
    "by priority": f"{ALL}&priority=LOW",
    "by beginning of an id": f"{ALL}&text=e-0000001",
    "by a rare lane": f"{ALL}&lane=mail",
    "by a rare user in a common lane": f"{ALL}&lane=executions&user=seldom",
    "by beginning of a rare user": f"{ALL}&text=seld",
    "by a rare priority": f"{ALL}&priority=CRITICAL",
    "of a day": f"{ALL}&from=2026-09-20T00:00:00Z&to=2026-09-21T00:00:00Z",
}


def _ledger(rig: Rig) -> Path:
    return rig.folder / "api_lists.sqlite3"


def prepare(rig: Rig) -> None:
    """Fill the ledger."""
    database = Database(f"sqlite:///{_ledger(rig)}")
    upgrade(database)
    count = rig.sized(1_000, 20_000, 1_000_000)
    for start in range(0, count, _AT_ONCE):
        rows = [_row(number) for number in range(start, min(count, start + _AT_ONCE))]
        with database.writing() as connection:
            connection.execute(insert(executions), rows)
    database.close()


def _row(number: int) -> dict[str, object]:
    accepted_ms = _NOW_MS - number * 1_000
    state = _STATES[number % len(_STATES)]
    is_rare = number >= _RARE_FROM and number % 20_000 == 0
    row = Execution(
        execution_id=f"e-{number:012}",
        lane="mail" if is_rare else "executions",
        action=f"action-{number % 50}",
        user_id="seldom" if is_rare else f"user-{number % 1_000}",
        band=0 if is_rare else number % 4 + 1,
        state=state,
        attempt=1,
        accepted_ms=accepted_ms,
        waiting_ms=accepted_ms,
        granted_ms=accepted_ms + 500,
        ended_ms=accepted_ms + 5_000 if state in ("COMPLETED", "FAILED", "CANCELLED") else None,
    )
    return {name: getattr(row, name) for name in Execution.__slots__}


def measure(rig: Rig, side: str) -> Measured:
    """Ask for each kind of page, and for a page far behind the first."""
    times = rig.sized(2, 5, 20)
    with served(rig, f"sqlite:///{_ledger(rig)}") as calls:
        calls.get(ALL)
        found = {name: _milliseconds(calls, path, times) for name, path in PAGES.items()}
        path = ALL
        for _ in range(rig.sized(2, 20, 200)):
            cursor = calls.get(path)["next"]
            path = f"{ALL}&cursor={cursor}"
        found["far behind"] = _milliseconds(calls, path, times)
        slowest = max(found.values())
        status = _milliseconds(calls, "/api/v1/admin/executions/queue", times)
    return found | {"slowest page": slowest, "queue status": status}


def _milliseconds(calls: Calls, path: str, times: int) -> float:
    return median(calls.seconds_of(path) for _ in range(times)) * 1000


QUESTION = Question(
    name="api_lists",
    asks="With 1,000,000 executions in the ledger, how long do a page of a list and the queue's status take?",
    sides=(BANDMASTER,),
    figures=tuple(Figure(name, "ms") for name in (*PAGES, "far behind", "slowest page", "queue status")),
    measure=measure,
    prepare=prepare,
    targets=(
        Target(BANDMASTER, "slowest page", at_most=50),
        Target(BANDMASTER, "queue status", at_most=10),
    ),
)
