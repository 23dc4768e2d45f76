"""Reads a gated actor's options: ``band``, ``action``, ``gates``, ``limits``, ``unique``, ``schedule``,
``keep_unrun``.

In the flow: called once, when the actor is declared. A wrong option stops the declaration, so it is found at import and
not with the first message.
"""

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dramatiq import Actor
from dramatiq.middleware import Middleware

from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.identifiers import action_of, check_action, check_lane
from ...scheduler.model.priority import Priority
from ...scheduler.model.unique import UniqueKey
from .declared_limits import OPTION as LIMITS
from .declared_limits import Declared, read_limits
from .declared_schedules import OPTION as SCHEDULE
from .declared_schedules import Checked, read_schedule
from .gate_templates import check_fields, check_gates
from .unique_keys import OPTION as UNIQUE
from .unique_keys import of_actor

GATING_OPTIONS: Final = frozenset({"band", "action", "gates", "runs_events", SCHEDULE})
"""An actor with one of these is gated; ``runs_events`` marks an actor that takes an ExecutionRequestedEvent."""
ACTOR_OPTIONS: Final = GATING_OPTIONS | {LIMITS, UNIQUE, "keep_unrun"}
"""Our options of ``@actor(…)``."""


RETRY_OPTIONS: Final = frozenset({"max_retries", "min_backoff", "max_backoff"})
"""Those of Dramatiq's that have to be numbers."""
MAX_AGE_MS: Final = 10**13
"""Three hundred years."""


@dataclass(frozen=True, slots=True)
class GatedActor:
    """An actor's options, checked."""

    name: str
    lane: str
    band: Priority
    action: str
    """The actor's name, unless the option names another."""
    gates: tuple[str, ...]
    declared: Declared
    """The limits and rates that it declares."""
    signature: inspect.Signature
    runs_events: bool
    timeout_ms: int
    max_age_ms: int | None
    """Dramatiq's ``max_age``, for messages that have none of their own."""
    keep_unrun: bool = False
    """Whether an execution that ends without a result (expired, cancelled while it waited) becomes a dead letter."""
    unique: UniqueKey | None = None
    """The unique key of its messages, which may be a template."""
    schedule: Checked | None = None
    """When it is sent again and again."""


def is_gated(actor: "Actor[..., Any]") -> bool:
    """Whether an actor is gated: it has one of the `GATING_OPTIONS`."""
    return any(option in actor.options for option in GATING_OPTIONS)


def refuse_ungated(actor: "Actor[..., Any]", others: Iterable[Middleware]) -> None:
    """Refuse our other options on an actor that is not gated: they would do nothing.

    Args:
        actor: An actor without a band, an action or gates.
        others: The broker's other middleware; an option that one of them has by the same name is not ours.

    Raises:
        InvalidRequest: If the actor has such an option.
    """
    theirs = {option for each in others for option in each.actor_options}
    for option in sorted((actor.options.keys() & (ACTOR_OPTIONS - GATING_OPTIONS)) - theirs):
        raise InvalidRequest(
            option, f"actor {actor.actor_name} is not gated", allowed="on actors declared with band=, action= or gates="
        )


def parse_band(value: object) -> Priority:
    """Return the priority of a band, given as a member, a name or a number; else raise InvalidRequest."""
    try:
        return Priority.parse(value)
    except InvalidRequest as error:
        raise InvalidRequest("band", error.problem, allowed=error.allowed) from None


def read_max_age(value: object) -> int | None:
    """Return how many ms after its acceptance a message may wait, by Dramatiq's ``max_age``; None: without limit.

    Raises:
        InvalidRequest: If the value is not a number of ms above 0 and up to `MAX_AGE_MS`.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_AGE_MS:
        raise InvalidRequest("max_age", f"{shown(value)} is no age", allowed="milliseconds, above 0; None for any")
    return math.ceil(value)


def check_retry_options(options: Mapping[str, Any]) -> None:
    """Check the options of Dramatiq's `Retries`, of an actor or a message: it would fail only after a body raised.

    Raises:
        InvalidRequest: If a number of retries or a backoff is no number.
    """
    for name in () if RETRY_OPTIONS.isdisjoint(options) else sorted(RETRY_OPTIONS & options.keys()):
        value = options[name]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number and not (value is None and name == "max_retries"):
            allowed = "a number; None for no bound" if name == "max_retries" else "milliseconds"
            raise InvalidRequest(name, f"{shown(value)} is no number", allowed=allowed)


def read_actor(actor: "Actor[..., Any]") -> GatedActor:
    """Read and check an actor's options.

    Raises:
        InvalidRequest: If an option is not allowed, or a gate template names an argument that the actor does not have.
    """
    check_retry_options(actor.options)
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
    runs_events = bool(actor.options.get("runs_events"))
    gated = GatedActor(
        name=actor.actor_name,
        lane=check_lane(actor.queue_name),
        band=parse_band(actor.options.get("band", Priority.NORMAL)),
        action=action,
        gates=gates,
        declared=read_limits(actor.options.get(LIMITS, {}), action, gates),
        signature=signature,
        runs_events=runs_events,
        timeout_ms=time_limit if isinstance(time_limit, int) else 0,
        max_age_ms=read_max_age(actor.options.get("max_age")),
        keep_unrun=keep_unrun,
        unique=of_actor(actor.options.get(UNIQUE), signature, actor.actor_name, runs_events=runs_events),
    )
    schedule = read_schedule(actor.options.get(SCHEDULE), gated)
    return gated if schedule is None else replace(gated, schedule=schedule)
