"""From a Dramatiq message to the candidate that is parked: which actors are gated, and what their options mean.

In the flow: `PriorityBands` calls this before anything is written, so bad input leaves nothing behind. Actor options:
``band`` (a priority), ``action`` (default: the actor's name), ``gates`` (keys, with templates over the arguments:
``"tenant:{tenant}"``). Options of one message: ``band``, ``user_id``, ``gates``, ``execution_id``, ``scheduled_at``.
"""

import inspect
import string
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from dramatiq import Actor, Broker, Message

from ..scheduler.errors import InvalidRequest, shown
from ..scheduler.events import ExecutionRequestedEvent
from ..scheduler.identifiers import check_action, check_execution_id, check_gate_key, check_lane, check_user_id
from ..scheduler.priority import Priority
from ..scheduler.queue import candidate_of
from ..scheduler.transitions import Candidate
from .delivery import as_sent

ACTOR_OPTIONS: Final = frozenset({"band", "action", "gates", "runs_events"})
"""What may stand in ``@actor(…)``; ``runs_events`` marks the actor whose one argument is an ExecutionRequestedEvent."""

MESSAGE_OPTIONS: Final = frozenset({"band", "user_id", "gates", "execution_id", "scheduled_at"})
MAX_GATES: Final = 8
MAX_MESSAGE_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class GatedActor:
    """An actor's options, checked once when it is declared."""

    name: str
    lane: str
    band: Priority
    action: str
    gates: tuple[str, ...]
    signature: inspect.Signature
    runs_events: bool
    timeout_ms: int


def is_gated(actor: "Actor[..., Any]") -> bool:
    """Whether it goes through the gate: it has a band, an action or gates."""
    return any(option in actor.options for option in ACTOR_OPTIONS)


def read_actor(actor: "Actor[..., Any]") -> GatedActor:
    """The actor's options.

    Raises:
        InvalidRequest: If one is not allowed, or a template names no argument of the actor.
    """
    gates = _check_gate_list(actor.options.get("gates", ()))
    signature = inspect.signature(actor.fn)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for gate in gates:
        for field in _template_fields(gate):
            if field not in signature.parameters and not takes_any:
                raise InvalidRequest(
                    "gates",
                    f"{shown(gate)} names {shown(field)}, which is no argument of actor {actor.actor_name}",
                    allowed=", ".join(signature.parameters) or "no template, for it has no arguments",
                )
    time_limit = actor.options.get("time_limit")
    return GatedActor(
        name=actor.actor_name,
        lane=check_lane(actor.queue_name),
        band=Priority.parse(actor.options.get("band", Priority.NORMAL)),
        action=check_action(actor.options.get("action", actor.actor_name)),
        gates=gates,
        signature=signature,
        runs_events=bool(actor.options.get("runs_events")),
        timeout_ms=time_limit if isinstance(time_limit, int) else 0,
    )


def find_gated(broker: Broker, message: "Message[Any]", known: dict[str, GatedActor]) -> GatedActor | None:
    """The message's actor, if it is gated.

    Raises:
        InvalidRequest: If the message has our options and its actor is not gated.
    """
    gated = known.get(message.actor_name)
    if gated is None and message.actor_name in broker.actors:
        ours = {"band", "gates", "user_id", "scheduled_at"} & message.options.keys()
        if ours:
            raise InvalidRequest(
                ", ".join(sorted(ours)),
                f"actor {message.actor_name} is not gated",
                allowed="on actors declared with band=, action= or gates=",
            )
    return gated


def read_message(gated: GatedActor, message: "Message[Any]", now_ms: int, delay_ms: int | None) -> Candidate:
    """What is parked for a message.

    Args:
        gated: Its actor.
        message: As it is sent.
        now_ms: The caller's clock, for `delay` only; order is by the server's.
        delay_ms: As given to `send_with_options`.

    Raises:
        InvalidRequest: If an option or an argument is not allowed.
    """
    if gated.runs_events:
        return _read_event(gated, message, now_ms, delay_ms)
    options = message.options
    encoded = message.encode()
    if len(encoded) > MAX_MESSAGE_BYTES:
        raise InvalidRequest("message", f"it has {len(encoded)} bytes", allowed=f"at most {MAX_MESSAGE_BYTES}")
    user_id = options.get("user_id")
    given = options.get("band")
    return Candidate(
        execution_id=check_execution_id(options.get("execution_id", message.message_id)),
        lane=message.queue_name,
        band=int(gated.band if given is None else Priority.parse(given)),
        action=gated.action,
        user_id=None if user_id is None else check_user_id(user_id),
        gates=_gates_of(gated, message),
        timeout_ms=gated.timeout_ms,
        due_ms=_due_ms(options.get("scheduled_at"), now_ms, delay_ms),
        message=encoded,
    )


def _read_event(gated: GatedActor, message: "Message[Any]", now_ms: int, delay_ms: int | None) -> Candidate:
    if len(message.args) != 1 or message.kwargs:
        raise InvalidRequest(
            "arguments", f"{len(message.args)} and {len(message.kwargs)} by name", allowed="one event, as a dict"
        )
    event = ExecutionRequestedEvent.from_any(message.args[0])
    candidate = candidate_of(event, gated.lane)
    due_ms = _due_ms(None, now_ms, delay_ms)
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
        event=candidate.event,
        message=bare.encode(),
    )


def _gates_of(gated: GatedActor, message: "Message[Any]") -> tuple[str, ...]:
    templates = gated.gates
    if "gates" in message.options:
        templates += _check_gate_list(message.options["gates"])
    if not templates:
        return ()
    arguments: dict[str, Any] = {}
    if any("{" in template for template in templates):
        try:
            bound = gated.signature.bind(*message.args, **message.kwargs)
        except TypeError as error:
            raise InvalidRequest("arguments", f"of actor {gated.name}: {error}") from None
        bound.apply_defaults()
        for parameter in gated.signature.parameters.values():
            value = bound.arguments.get(parameter.name)
            if parameter.kind is parameter.VAR_KEYWORD and isinstance(value, dict):
                arguments.update(value)  # pyright: ignore[reportUnknownArgumentType]
            else:
                arguments[parameter.name] = value
    return tuple(dict.fromkeys(_filled(template, arguments) for template in templates))


def _filled(template: str, arguments: dict[str, Any]) -> str:
    if "{" not in template:
        return check_gate_key(template)
    for field in _template_fields(template):
        if not isinstance(arguments.get(field), str | int) or arguments[field] == "":
            raise InvalidRequest(
                "gates",
                f"{shown(template)} needs argument {field}, which is {shown(arguments.get(field))}",
                allowed="a text or a whole number",
            )
    return check_gate_key(template.format_map(arguments))


def _template_fields(template: str) -> Iterable[str]:
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise InvalidRequest("gates", f"{shown(template)} is no template: {error}") from None
    for field in fields:
        if not field.isidentifier():
            raise InvalidRequest("gates", f"{shown(template)} names {shown(field)}", allowed="{argument}")
    return fields


def _check_gate_list(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise InvalidRequest("gates", f"{shown(value)} is no list of gates", allowed='a list like ["tenant:{tenant}"]')
    gates = cast("tuple[str, ...]", tuple(value))  # pyright: ignore[reportUnknownArgumentType]
    if len(gates) > MAX_GATES:
        raise InvalidRequest("gates", f"{len(gates)} gates", allowed=f"at most {MAX_GATES}")
    for gate in gates:
        if not isinstance(gate, str) or "{" not in gate:  # pyright: ignore[reportUnnecessaryIsInstance]
            check_gate_key(gate)
    return gates


def _due_ms(scheduled_at: object, now_ms: int, delay_ms: int | None) -> int | None:
    if delay_ms is not None and (isinstance(delay_ms, bool) or not isinstance(delay_ms, int) or delay_ms < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidRequest("delay", f"{shown(delay_ms)} is no delay", allowed="milliseconds, 0 or more")
    due = now_ms + delay_ms if delay_ms else None
    if scheduled_at is None:
        return due
    if isinstance(scheduled_at, str):
        try:
            scheduled_at = datetime.fromisoformat(scheduled_at)
        except ValueError:
            raise InvalidRequest("scheduled_at", f"{shown(scheduled_at)} is no time", allowed="ISO 8601") from None
    if not isinstance(scheduled_at, datetime) or scheduled_at.tzinfo is None:
        raise InvalidRequest(
            "scheduled_at", f"{shown(str(scheduled_at))} has no time zone", allowed="an aware datetime, or ISO 8601"
        )
    return max(int(scheduled_at.timestamp() * 1000), due or 0)
