"""Writes items to files: JSON Lines, exact and for another upload, or CSV, for people who open it in a spreadsheet.

In the flow: pages along an index, the latest first, so that as much is in memory as one page has, whatever is exported.
What is added or changed meanwhile may be in it or not. In CSV, a text that a spreadsheet would take for a formula
begins with an apostrophe (OWASP, "CSV Injection"): it is for reading, and no exact copy.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import select

from ..ledger.schema.tables import queue_items
from ..scheduler.model.times import iso_of
from .item_lines import FileFormat
from .json_texts import value_of
from .listing import Listing, Place, Sought
from .model import Item
from .store import Store

ITEMS_A_PAGE: Final = 200
COLUMNS: Final = (
    *("id", "status", "reference", "priority", "payload", "result", "failure", "error_message", "progress", "retries"),
    *("abandoned", "robot_id", "job_id", "deadline_at", "postpone_until", "created_at", "ended_at"),
)
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


def exported(store: Store, sought: Sought, kind: FileFormat) -> Iterator[str]:
    """Yield the text of a file, in pieces.

    Args:
        store: Where the items are.
        sought: Which ones.
        kind: What file it is to be.

    Raises:
        LedgerError: If the database does not answer.
    """
    listing, before = Listing(store), None
    if kind is FileFormat.CSV:
        yield _csv_line(list(COLUMNS))
    while page := listing.page(sought, ITEMS_A_PAGE, before=before):
        values = _values_of(store, [item.item_id for item in page])
        yield "".join(_line(replace(item, **values.get(item.item_id, {})), kind) for item in page)
        before = Place(page[-1].created_ms, page[-1].item_id)


def _values_of(store: Store, item_ids: list[str]) -> dict[str, dict[str, Any]]:
    """The payloads and results, which no list has."""
    of = queue_items.c
    wanted = select(of.item_id, of.payload, of.result).where(of.item_id.in_(item_ids))
    rows = store.read(lambda connection: connection.execute(wanted).all())
    return {row.item_id: {"payload": row.payload, "result": row.result} for row in rows}


def _line(item: Item, kind: FileFormat) -> str:
    fields = {
        "id": item.item_id,
        "status": item.status.value,
        "reference": item.reference,
        "priority": item.priority,
        "payload": value_of(item.payload),
        "result": value_of(item.result),
        "failure": None if item.failure is None else item.failure.value,
        "error_message": item.error_message,
        "progress": item.progress,
        "retries": item.retries,
        "abandoned": item.abandoned,
        "robot_id": item.locked_by_robot_id,
        "job_id": item.job_id,
        "deadline_at": iso_of(item.deadline_ms),
        "postpone_until": iso_of(item.available_ms),
        "created_at": iso_of(item.created_ms),
        "ended_at": iso_of(item.ended_ms),
    }
    if kind is FileFormat.JSONL:
        return json.dumps({name: each for name, each in fields.items() if each is not None}, ensure_ascii=False) + "\n"
    # Payloads and results are JSON there, too, as they are kept.
    return _csv_line([_cell(each) for each in (fields | {"payload": item.payload, "result": item.result}).values()])


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULAS) else value
    return "" if value is None else str(value)
