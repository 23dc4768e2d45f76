"""Writes payloads and results: what an execution needs to run, and what it left.

In the flow: `book.py` calls it in the transaction of the entries that they belong to. An id may be used again once its
execution has ended; then nothing of the earlier execution stays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import islice
from typing import Final

from pydantic import ValidationError
from sqlalchemy import Connection, delete

from ..scheduler.engine.record import Result
from .executions import Execution
from .fetching import Fetched, Payload
from .schema.tables import payloads, results
from .statements import among, put

_IDS_A_STATEMENT: Final = 500


def write_kept(connection: Connection, fetched: Fetched) -> None:
    """Write all that was fetched, in place of what is there."""
    _forget(connection, fetched.begun)
    write_payloads(connection, fetched.payloads.values())
    rows = [{"execution_id": one, "result": result} for one, result in sorted(fetched.results.items())]
    put(connection, results, rows, keys=["execution_id"])


def write_payloads(connection: Connection, fetched: Iterable[Payload]) -> None:
    """Write payloads, in place of those that are there."""
    put(connection, payloads, [asdict(each) for each in fetched], keys=["execution_id"])


def note_exit_codes(rows: Mapping[str, Execution], fetched: Mapping[str, bytes]) -> None:
    """Take over the exit codes that results tell into the rows of their executions."""
    for one, result in fetched.items():
        if row := rows.get(one):
            row.exit_code = _exit_code(result)


def _exit_code(result: bytes) -> int | None:
    try:
        return Result.model_validate_json(result).exit_code
    except ValidationError:  # of another release: it is kept as it is
        return None


def _forget(connection: Connection, execution_ids: Iterable[str]) -> None:
    ids = iter(sorted(execution_ids))
    while some := list(islice(ids, _IDS_A_STATEMENT)):
        for table in (payloads, results):
            connection.execute(delete(table).where(among(connection, table.c.execution_id, some)))
