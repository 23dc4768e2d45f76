"""What people change of queues and items, for the audit: a row, written in the transaction of the change.

In the flow: `queues` and `editing` write them; the audit of the API reads them with all others. No payload is in one.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, insert

from ..ledger.schema.tables import item_changes

MOST_CHARS: Final = 500


class Verb(StrEnum):
    """What was done."""

    CREATE_QUEUE = "create_queue"
    CHANGE_QUEUE = "change_queue"
    DELETE_QUEUE = "delete_queue"
    EDIT_ITEM = "edit_item"
    DELETE_ITEM = "delete_item"
    CREATE_TRIGGER = "create_trigger"
    CHANGE_TRIGGER = "change_trigger"
    DELETE_TRIGGER = "delete_trigger"
    TEST_NOTIFICATION = "test_notification"


def note_change(
    connection: Connection, verb: Verb, subject: str, before: str | None, after: str | None, *, by: str, at_ms: int
) -> None:
    """Write down a change.

    Args:
        connection: Of the transaction that makes it.
        verb: What was done.
        subject: Of which queue or item: `queue:NAME` or its id.
        before: What it was, as a text.
        after: What it is.
        by: Who did it.
        at_ms: When, by the database's clock.
    """
    cut = [None if each is None else each[:MOST_CHARS] for each in (before, after)]
    connection.execute(
        insert(item_changes).values(
            at_ms=at_ms, verb=verb, subject=subject, value_before=cut[0], value_after=cut[1], changed_by=by
        )
    )


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[str, str]:
    """Return what two states differ in, as texts."""
    names = [name for name in after if before.get(name) != after[name]]
    return tuple("; ".join(f"{name} {of.get(name)}" for name in names) for of in (before, after))  # type: ignore[return-value]
