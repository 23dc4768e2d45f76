"""Rows of waits and of holds, written into a ledger as they are, and the statements by which it is asked."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, event

from bandmaster.ledger.executions import Execution
from bandmaster.ledger.magnitudes import magnitude_of

GATE: Final = "action:pod"


@dataclass
class Asked:
    """Statements, with their values, that were asked."""

    statements: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])


@contextmanager
def listened(connection: Connection) -> Generator[Asked]:
    asked = Asked()

    def hear(_: Connection, __: Any, statement: str, parameters: Any, ___: Any, ____: bool) -> None:
        asked.statements.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", hear)
    try:
        yield asked
    finally:
        event.remove(connection, "before_cursor_execute", hear)


def hold(name: str, since_ms: int, until_ms: int, *, gate: str = GATE, lane: str = "executions") -> dict[str, Any]:
    return {
        "execution_id": name,
        "attempt": 1,
        "since_ms": since_ms,
        "gate": gate,
        "until_ms": until_ms,
        "magnitude": magnitude_of(until_ms - since_ms),
        "lane": lane,
    }


def waits(name: str, since_ms: int, until_ms: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Rows of an execution that waited from then until then, and of its transitions."""
    row = Execution(name, lane="executions", action="pod", state="COMPLETED", attempt=1, accepted_ms=since_ms)
    steps = [
        {
            "journal_id": 1,
            "entry_ms": at_ms,
            "entry_number": 7 + len(name),
            "execution_id": name,
            "at_ms": at_ms,
            "verb": verb,
            "state": state,
            "attempt": attempt,
        }
        for at_ms, verb, state, attempt in ((since_ms, "park", "PENDING", 0), (until_ms, "admit", "RUNNING", 1))
    ]
    return {each: getattr(row, each) for each in Execution.__slots__}, steps
