"""Reads a gated actor's options: ``band``, ``action``, ``gates``, ``limits``, ``keep_unrun``.

In the flow: read once, when the actor is declared; a wrong option stops the declaration, so that it is found at import
and not with the first message.
"""

import inspect
import math
from dataclasses import dataclass
from typing import Any, Final

from dramatiq import Actor

from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.identifiers import action_of, check_action, check_lane
from ...scheduler.model.priority import Priority
from .declared_limits import OPTION as LIMITS
from .declared_limits import read_limits
from .gate_templates import check_fields, check_gates

GATING_OPTIONS: Final = frozenset({"band", "action", "gates", "runs_events"})
"""An actor with one of these is gated; ``runs_events`` marks the one whose argument is an ExecutionRequestedEvent."""
ACTOR_OPTIONS: Final = GATING_OPTIONS | {LIMITS, "keep_unrun"}
"""What may stand in ``@actor(…)``."""


MAX_AGE_MS: Final = 10**13
"""Three hundred years."""


@dataclass(frozen=True, slots=True)
class GatedActor:
    """An actor's options, checked."""

    name: str
    lane: str
    band: Priority
    action: str
    """The actor's name, unless given."""
    gates: tuple[str, ...]
    limits: dict[str, int]
    """Those it declares, by gate or kind."""
    signature: inspect.Signature
    runs_events: bool
    timeout_ms: int
    max_age_ms: int | None
    """Dramatiq's ``max_age``, for messages that have none of their own."""
    keep_unrun: bool = False
    """Whether one that ends without a result of its own (expired, cancelled while it waited) is a dead letter."""


def is_gated(actor: "Actor[..., Any]") -> bool:
    """Whether it goes through the gate: it has a band, an action or gates."""
    return any(option in actor.options for option in GATING_OPTIONS)


def parse_band(value: object) -> Priority:
    """The priority that a band means: a member, a name or a number; else InvalidRequest."""
    try:
        return Priority.parse(value)
    except InvalidRequest as error:
        raise InvalidRequest("band", error.problem, allowed=error.allowed) from None


def read_max_age(value: object) -> int | None:
    """How many ms a message may wait, from its acceptance on, by Dramatiq's option ``max_age``; None: any time.

    Raises:
        InvalidRequest: If it is no number of ms.
    """
    if not value:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_AGE_MS:
        raise InvalidRequest("max_age", f"{shown(value)} is no age", allowed="milliseconds, above 0; None for any")
    return math.ceil(value)


def read_actor(actor: "Actor[..., Any]") -> GatedActor:
    """The actor's options.

    Raises:
        InvalidRequest: If one is not allowed, or a template names no argument of the actor.
    """
    gates = check_gates(actor.options.get("gates", ()))
    signature = inspect.signature(actor.fn)
    for gate in gates:
        check_fields(gate, signature, actor.actor_name)
    named = actor.options.get("action")
    action = action_of(actor.actor_name) if named is None else check_action(named)
    time_limit = actor.options.get("time_limit")
    keep_unrun = actor.options.get("keep_unrun", False)
    if not isinstance(keep_unrun, bool):
        raise InvalidRequest("keep_unrun", f"{shown(keep_unrun)} is neither yes nor no", allowed="True or False")
    return GatedActor(
        name=actor.actor_name,
        lane=check_lane(actor.queue_name),
        band=parse_band(actor.options.get("band", Priority.NORMAL)),
        action=action,
        gates=gates,
        limits=read_limits(actor.options.get(LIMITS, {}), action, gates),
        signature=signature,
        runs_events=bool(actor.options.get("runs_events")),
        timeout_ms=time_limit if isinstance(time_limit, int) else 0,
        max_age_ms=read_max_age(actor.options.get("max_age")),
        keep_unrun=keep_unrun,
    )
