"""Which actors are gated, and what their options mean: ``band``, ``action``, ``gates``.

In the flow: read once, when the actor is declared; a wrong option stops the declaration, so that it is found at import
and not with the first message.
"""

import inspect
from dataclasses import dataclass
from typing import Any, Final

from dramatiq import Actor

from ..scheduler.errors import InvalidRequest
from ..scheduler.identifiers import check_action, check_lane
from ..scheduler.priority import Priority
from .templates import check_fields, check_gates

ACTOR_OPTIONS: Final = frozenset({"band", "action", "gates", "runs_events"})
"""What may stand in ``@actor(…)``; ``runs_events`` marks the actor whose one argument is an ExecutionRequestedEvent."""


@dataclass(frozen=True, slots=True)
class GatedActor:
    """An actor's options, checked."""

    name: str
    lane: str
    band: Priority
    action: str
    """The actor's name, unless given."""
    gates: tuple[str, ...]
    signature: inspect.Signature
    runs_events: bool
    timeout_ms: int


def is_gated(actor: "Actor[..., Any]") -> bool:
    """Whether it goes through the gate: it has a band, an action or gates."""
    return any(option in actor.options for option in ACTOR_OPTIONS)


def parse_band(value: object) -> Priority:
    """The priority that a band means: a member, a name or a number; else InvalidRequest."""
    try:
        return Priority.parse(value)
    except InvalidRequest as error:
        raise InvalidRequest("band", error.problem, allowed=error.allowed) from None


def read_actor(actor: "Actor[..., Any]") -> GatedActor:
    """The actor's options.

    Raises:
        InvalidRequest: If one is not allowed, or a template names no argument of the actor.
    """
    gates = check_gates(actor.options.get("gates", ()))
    signature = inspect.signature(actor.fn)
    for gate in gates:
        check_fields(gate, signature, actor.actor_name)
    time_limit = actor.options.get("time_limit")
    return GatedActor(
        name=actor.actor_name,
        lane=check_lane(actor.queue_name),
        band=parse_band(actor.options.get("band", Priority.NORMAL)),
        action=check_action(actor.options.get("action", actor.actor_name)),
        gates=gates,
        signature=signature,
        runs_events=bool(actor.options.get("runs_events")),
        timeout_ms=time_limit if isinstance(time_limit, int) else 0,
    )
