"""``Told``: one entry of the journal as followers get it, and who may see it.

In the flow: the hub makes each once, for all followers. The format is that of server-sent events (WHATWG HTML, 9.2).
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from ...scheduler.engine.held_schedule import readable_schedule
from ...scheduler.engine.journal import JournalEntry, Verb
from ...scheduler.engine.journal_following import Position
from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.priority import Priority
from ...scheduler.model.rates import readable
from ...scheduler.model.times import iso_of

RESET: Final = b"event: reset\ndata: {}\n\n"
"""Some entries are not known any more: what the follower knows has to be loaded anew."""
ALIVE: Final = b": \n\n"
"""A comment, so that a connection without news is known to live."""
_ID_PARTS: Final = 3
DAMAGED: Final = (KeyError, ValueError, OverflowError)
"""What `told` raises of an entry that no script wrote so."""


@dataclass(frozen=True, slots=True)
class Told:
    """An entry."""

    user_id: str | None
    """Whose execution it is about; None: nobody's, or about none."""
    frame: bytes
    """As it is sent to operators."""
    frame_of_owner: bytes
    """As it is sent to the user: without the name of who asked for it."""


def told(entry: JournalEntry, position: Position) -> Told:
    """Return an entry as followers get it.

    Args:
        entry: The entry.
        position: The position after it, from which a follower goes on.

    Raises:
        KeyError, ValueError, OverflowError: If the entry is damaged.
    """
    fields = dict(entry.fields)
    document: dict[str, Any] = {"verb": entry.verb, "at": iso_of(entry.at_ms)}
    if entry.execution_id:
        document["execution_id"] = entry.execution_id
    user_id = fields.pop("user", "") or None
    if user_id is not None:
        document["user_id"] = user_id
    if fields.get("band"):
        document["priority"] = Priority(int(fields.pop("band"))).name
    if "attempt" in fields:
        document["attempt"] = int(fields.pop("attempt"))
    if entry.verb == Verb.RATE:
        fields |= {name: readable(fields[name]) for name in ("from", "to") if fields.get(name)}
    if entry.verb == Verb.SCHEDULE:
        fields |= {name: readable_schedule(fields[name]) for name in ("from", "to") if fields.get(name)}
    document |= {name: value for name, value in fields.items() if value}
    without = {name: value for name, value in document.items() if name != "by"}
    frame = _frame(position, document)
    return Told(user_id, frame, frame if without == document else _frame(position, without))


def event_id(position: Position) -> str:
    """Return a position as the id of an event."""
    return f"{position.incarnation}.{position.entry_id}.{position.count}"


def read_event_id(text: str) -> Position:
    """Return the position of an event's id.

    Raises:
        InvalidRequest: If it is none.
    """
    parts = text.split(".")
    if len(parts) == _ID_PARTS and len(text) <= 120 and text.isascii():
        incarnation, entry_id, count = parts
        ms, _, number = entry_id.partition("-")
        if incarnation.isalnum() and all(each.isdecimal() and len(each) < 19 for each in (ms, number, count)):
            return Position(incarnation, entry_id, int(count))
    raise InvalidRequest("Last-Event-ID", f"{shown(text)} is none", allowed="the id of an event")


def _frame(position: Position, document: dict[str, Any]) -> bytes:
    # JSON has no line breaks, so one line of data it is.
    data = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return f"id: {event_id(position)}\nevent: {document['verb']}\ndata: {data}\n\n".encode(errors="replace")
