"""Reads a Dramatiq message and its options into the candidate that is parked.

In the flow: `PriorityBands` calls this before anything is written, so bad input leaves nothing behind. Options of one
message: ``band``, ``user_id``, ``gates``, ``unique``, ``execution_id``, ``scheduled_at``; Dramatiq's own: ``delay``,
``max_age``.
"""

import json
import math
import re
from datetime import datetime
from typing import Any, Final

from dramatiq import JSONEncoder, Message, get_encoder

from ...scheduler.engine.parking import Candidate
from ...scheduler.events import ExecutionRequestedEvent
from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.identifiers import check_execution_id, check_user_id
from ...scheduler.queue import candidate_of
from .actor_options import GatedActor, check_retry_options, parse_band, read_max_age
from .declared_limits import OPTION as LIMITS
from .envelope import as_sent
from .execution_ids import digest, execution_id_of, named_id
from .gate_templates import check_gates, filled
from .unique_keys import OPTION as UNIQUE
from .unique_keys import of_message

MESSAGE_OPTIONS: Final = frozenset({"band", "user_id", "gates", UNIQUE, "execution_id", "scheduled_at"})
OPTIONS_OF_ACTORS: Final = ("action", "lane", LIMITS, "keep_unrun")
"""Options of actors only: on a message they would look meaningful, and do nothing."""
_MADE_UP: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
"""The form of Dramatiq's own message ids: a random UUID."""

_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode
"""Writes a message as Dramatiq's own encoder does, which builds a new `JSONEncoder` for each message."""

MAX_MESSAGE_BYTES: Final = 1024 * 1024
"""The default bound; the broker takes another as an argument."""
MAX_UNIX_MS: Final = 10**14
"""The year 5138."""


def has_made_up_id(message: "Message[Any]") -> bool:
    """Whether a sender chose neither the execution id nor the message id, so that both come from Dramatiq."""
    return named_id(message) is None and _MADE_UP.fullmatch(message.message_id) is not None


def read_message(
    gated: GatedActor,
    message: "Message[Any]",
    delay_ms: float | None,
    now_ms: int,
    *,
    is_direct: bool = False,
    parent: str = "",
    origin: str = "",
    is_delivered: bool = False,
    max_bytes: int = MAX_MESSAGE_BYTES,
) -> Candidate:
    """Return the candidate to park for a message. A `scheduled_at` is replaced with text, so that it can be encoded.

    Args:
        gated: The message's actor.
        message: The message, as it is sent.
        delay_ms: The delay, as given to `send_with_options`.
        now_ms: The server's clock, if there is a delay.
        is_direct: The sender itself calls this; no list, hint or hook can bring the message back later.
        parent: The execution whose hook sends the message.
        origin: Where it came from: its delivery, or the work whose hook sends it; empty for an ordinary send.
        is_delivered: A broker delivers the message.
        max_bytes: The longest message that is accepted.

    Raises:
        InvalidRequest: If an option or an argument is not allowed.
    """
    _check_of_actors(gated, message.options)
    check_retry_options(message.options)
    due_ms = _due_ms(message.options, delay_ms, now_ms)
    max_age_ms = read_max_age(message.options.get("max_age")) or gated.max_age_ms
    if gated.runs_events:
        return _read_event(gated, message, due_ms, max_age_ms, parent, origin, max_bytes)
    options = message.options
    user_id = options.get("user_id")
    band = options.get("band")
    gates = gated.gates + (check_gates(options["gates"]) if "gates" in options else ())
    is_named, is_made_up = named_id(message) is not None, has_made_up_id(message)
    if is_made_up and not origin and "execution_id" not in options:
        execution_id = message.message_id
    else:
        execution_id = check_execution_id(execution_id_of(message, origin, is_delivered=is_delivered))
    return Candidate(
        execution_id=execution_id,
        lane=message.queue_name,
        band=int(gated.band if band is None else parse_band(band)),
        action=gated.action,
        user_id=None if user_id is None else _user(user_id),
        gates=filled(gates, gated.signature, gated.name, message),
        timeout_ms=gated.timeout_ms,
        due_ms=due_ms,
        max_age_ms=max_age_ms,
        message=encoded(message, max_bytes),
        is_lasting=not (is_direct and is_made_up),
        parent=parent,
        origin=_origin(message, origin) if is_named else "",
        unique=of_message(gated.unique, gated.signature, gated.name, message),
    )


def _check_of_actors(gated: GatedActor, options: dict[str, Any]) -> None:
    for name in OPTIONS_OF_ACTORS:
        if name in options:
            limited = ", ".join(sorted({*gated.declared.limits, *gated.declared.rates})) or "none"
            has = limited if name == LIMITS else getattr(gated, name)
            raise InvalidRequest(name, "is not an option of a message", allowed=f"on the actor; {gated.name} has {has}")


def _read_event(
    gated: GatedActor,
    message: "Message[Any]",
    due_ms: int | None,
    max_age_ms: int | None,
    parent: str,
    origin: str,
    max_bytes: int,
) -> Candidate:
    if len(message.args) != 1 or message.kwargs:
        raise InvalidRequest(
            "arguments", f"{len(message.args)} and {len(message.kwargs)} by name", allowed="one event, as a dict"
        )
    if message.options.get(UNIQUE) is not None:
        raise InvalidRequest(UNIQUE, f"actor {gated.name} runs events", allowed="on messages with arguments")
    event = ExecutionRequestedEvent.from_any(message.args[0])
    candidate = candidate_of(event, gated.lane)
    # The event is kept once, under its own key: the stored message gets it back when it is admitted.
    bare = as_sent(message, args=())
    bare.options["execution_id"] = event.execution_id
    return Candidate(
        execution_id=candidate.execution_id,
        lane=message.queue_name,
        band=candidate.band,
        action=candidate.action,
        user_id=candidate.user_id,
        gates=candidate.gates,
        timeout_ms=candidate.timeout_ms,
        due_ms=candidate.due_ms if due_ms is None else max(due_ms, candidate.due_ms or 0),
        max_age_ms=max_age_ms,
        event=candidate.event,
        message=encoded(bare, max_bytes),
        parent=parent,
        origin=_origin(message, origin),
    )


def _user(value: object) -> str:
    return check_user_id(str(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def _origin(message: "Message[Any]", origin: str) -> str:
    # An ordinarily sent message is its own origin: on a plain broker it is delivered later, as a hint.
    return digest(origin or message.message_id)


def encoded(message: "Message[Any]", max_bytes: int | None) -> bytes:
    """Encode a message.

    Raises:
        InvalidRequest: If it cannot be encoded, or is longer than `max_bytes`; None allows any length.
    """
    try:
        is_plain = type(message) is Message and type(get_encoder()) is JSONEncoder
        data = _ENCODE(vars(message)).encode() if is_plain else message.encode()
    except Exception as error:  # whatever an encoder may raise: a hook's ordinary exception would be swallowed
        # The error's text may contain a part of the payload, and refusals may be logged: only the cause holds it.
        raise InvalidRequest("message", f"it cannot be encoded: {type(error).__name__}") from error
    if max_bytes is not None and len(data) > max_bytes:
        raise InvalidRequest(
            "message", f"it has {len(data)} bytes", allowed=f"at most {max_bytes}, the broker's max_message_bytes"
        )
    return data


def _due_ms(options: dict[str, Any], delay_ms: object, now_ms: int) -> int | None:
    due = None
    if delay_ms is not None:
        if isinstance(delay_ms, bool) or not isinstance(delay_ms, int | float) or not abs(delay_ms) < MAX_UNIX_MS:
            raise InvalidRequest("delay", f"{shown(delay_ms)} is no delay", allowed="milliseconds")
        due = now_ms + math.ceil(delay_ms) if delay_ms > 0 else None  # a negative delay means now, as in Dramatiq
    if options.get("scheduled_at") is None:
        return due
    at = _time(options["scheduled_at"])
    options["scheduled_at"] = at.isoformat()
    return max(int(at.timestamp() * 1000), due or 0)


def _time(value: object) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidRequest("scheduled_at", f"{shown(value)} is no time", allowed="ISO 8601") from None
    if not isinstance(value, datetime):
        raise InvalidRequest("scheduled_at", f"{shown(value)} is no time", allowed="an aware datetime, or ISO 8601")
    if value.tzinfo is None:
        raise InvalidRequest(
            "scheduled_at", f"{shown(str(value))} has no time zone", allowed="an aware datetime, or ISO 8601"
        )
    return value
