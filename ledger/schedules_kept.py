"""Finds a user's schedules, and forgets who one ran as that is no more, in what the audit keeps of changes.

In the flow: forgetting a user asks for schedules that there are still before it changes anything, and at the end goes
over the changes of schedules, a page a transaction. If the process dies between two pages, the next run finds what is
left: a changed row names the user no more, and is passed over.
"""

import json
from collections.abc import Collection
from typing import Any, Final, cast

from sqlalchemy import select, tuple_, update

from ..scheduler.engine.engine import Engine
from ..scheduler.engine.journal import JournalEntry, Verb
from .database import Database
from .schema.tables import changes

_ROWS_A_PAGE: Final = 500
_WHAT_IT_RUNS: Final = ("args", "kwargs", "command")
_FORGOTTEN_COMMAND: Final = ["forgotten"]


def schedules_of(queue: Engine, user_id: str) -> list[str]:
    """Return the names of the schedules that run as a user, also of those that are paused.

    Args:
        queue: The queue.
        user_id: The user.

    Raises:
        QueueUnavailable: If Redis does not answer.
    """
    found, after = list[str](), ""
    while page := queue.schedules.page(after):
        found += [each.name for each in page if _read(each.definition).get("user_id") == user_id]
        after = page[-1].name
    return found


def is_of_schedule(entry: JournalEntry, user_id: str) -> bool:
    """Whether an entry of the journal has a schedule that ran as a user, before it or after it."""
    kept = (entry.fields.get("from", ""), entry.fields.get("to", ""))
    return entry.verb == Verb.SCHEDULE and any(_names(each, user_id) for each in kept)


def forget_schedules(database: Database, user_id: str, pseudonym: str, living: Collection[str]) -> int:
    """Put a pseudonym into changes of a user's schedules, and delete what these ran; how many changes those were.

    Args:
        database: The ledger's.
        user_id: Who the schedules ran as.
        pseudonym: What it is called from then on.
        living: Names of schedules that are left alone: they were added meanwhile, and a rebuild needs their changes.

    Raises:
        LedgerUnavailable: If the database does not answer.
    """
    of = changes.c
    key = tuple_(of.journal_id, of.entry_ms, of.entry_number)
    after, forgotten = (-1, -1, -1), 0
    while True:
        with database.overwriting() as connection:
            page = select(changes).where(of.verb == Verb.SCHEDULE, key > tuple_(*after)).order_by(*key)
            rows = connection.execute(page.limit(_ROWS_A_PAGE)).all()
            for row in rows:
                if row.name in living or not any(_names(each, user_id) for each in (row.value_before, row.value_after)):
                    continue
                at = (of.journal_id == row.journal_id, of.entry_ms == row.entry_ms, of.entry_number == row.entry_number)
                before, then = (_without(each, user_id, pseudonym) for each in (row.value_before, row.value_after))
                connection.execute(update(changes).where(*at).values(value_before=before, value_after=then))
                forgotten += 1
        if len(rows) < _ROWS_A_PAGE:
            return forgotten
        after = (rows[-1].journal_id, rows[-1].entry_ms, rows[-1].entry_number)


def _names(kept: str | None, user_id: str) -> bool:
    return _read((kept or "").partition("{")[2], "{").get("user_id") == user_id


def _without(kept: str | None, user_id: str, pseudonym: str) -> str | None:
    if kept is None or not _names(kept, user_id):
        return kept
    words, _, text = kept.partition("{")
    read = _read(text, "{")
    left = {name: value for name, value in read.items() if name not in _WHAT_IT_RUNS} | {"user_id": pseudonym}
    if "command" in read:
        left["command"] = _FORGOTTEN_COMMAND
    return words + json.dumps(left, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _read(text: str, begin: str = "") -> dict[str, Any]:
    """A definition; what is damaged reads as nothing."""
    try:
        read = json.loads(begin + text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}
