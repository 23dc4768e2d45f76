"""The option ``schedule`` of actors: when one is sent again and again, such as ``schedule="*/5 * * * *"``.

In the flow: checked when the actor is declared. A worker tells the server the schedules of its actors together with
their limits, and again if the server has lost them. If it dies before that, the next one does it. What an operator put
in the place of one stays. A schedule that no actor declares any more stays until somebody removes it. Pure functions,
but for `declare`.
"""

import inspect
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Literal, Protocol, Required, TypedDict, cast

from dramatiq import Message

from ...configs.logger import Logger
from ...scheduler.engine.schedules import Change, Schedules
from ...scheduler.events.schedule import Schedule as Checked
from ...scheduler.events.schedule_fields import SCHEDULE_NAME
from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.priority import Priority
from ...scheduler.model.unique import UniqueKey
from ...scheduler.planning import Planner
from .gate_templates import filled

log = Logger(__name__)
OPTION: Final = "schedule"
ALLOWED: Final = 'a line of cron like "*/5 * * * *", or Schedule(cron=…)'


class Schedule(TypedDict, total=False):
    """What the option ``schedule`` says: when its actor is sent."""

    cron: Required[str]
    """Five fields: minute, hour, day of the month, month, day of the week."""
    tz: str
    """The time zone of the line; UTC if none is given."""
    name: str
    """The schedule's name; the actor's, if none is given."""
    args: list[Any] | tuple[Any, ...]
    kwargs: dict[str, Any]
    user_id: str
    missed: Literal["skip", "once", "all"]
    """Of occurrences that nobody could start in time none runs, the last one, or the last `missed_limit`."""
    missed_limit: int
    overlap: Literal["allow", "skip"]
    """Whether one runs while an earlier one waits or runs, or is left out."""
    jitter_ms: int
    start: datetime
    end: datetime


class OfActor(Protocol):
    """What a schedule takes from its actor, a `GatedActor`."""

    @property
    def name(self) -> str: ...
    @property
    def lane(self) -> str: ...
    @property
    def band(self) -> Priority: ...
    @property
    def action(self) -> str: ...
    @property
    def gates(self) -> tuple[str, ...]: ...
    @property
    def signature(self) -> inspect.Signature: ...
    @property
    def runs_events(self) -> bool: ...
    @property
    def unique(self) -> UniqueKey | None: ...


def read_schedule(value: object, actor: OfActor) -> Checked | None:
    """Return the schedule of an actor; None if it has none.

    Raises:
        InvalidRequest: If the option is not allowed, or the actor cannot be sent with these arguments.
    """
    if value is None:
        return None
    given = {"cron": value} if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        raise InvalidRequest(OPTION, f"{shown(value)} is none", allowed=ALLOWED)
    said = cast("Mapping[object, object]", given)
    for name in said:
        if name not in Schedule.__annotations__:
            raise InvalidRequest(OPTION, f"{shown(name)} is no part of it", allowed=", ".join(Schedule.__annotations__))
    if actor.runs_events:
        raise InvalidRequest(OPTION, f"actor {actor.name} runs events", allowed="on actors with arguments")
    if actor.unique is not None:
        raise InvalidRequest(OPTION, f"actor {actor.name} has a unique key", allowed='overlap="skip" in its place')
    fields = {str(name): part for name, part in said.items()}
    name = fields.pop("name", actor.name)
    if "name" not in said and not SCHEDULE_NAME.fullmatch(actor.name):
        raise InvalidRequest(OPTION, f"{shown(actor.name)} is no schedule's name", allowed="another one, as name=")
    args, kwargs = _arguments(fields, actor)
    sent: Message[Any] = Message(queue_name=actor.lane, actor_name=actor.name, args=args, kwargs=kwargs, options={})
    try:
        return Checked.of(
            fields
            | {
                "name": name,
                "actor": actor.name,
                "lane": actor.lane,
                "priority": Priority(actor.band),
                "action": actor.action,
                "gates": filled(actor.gates, actor.signature, actor.name, sent),
            }
        )
    except InvalidRequest as error:
        raise InvalidRequest(f"{OPTION}, {error.field}", error.problem, allowed=error.allowed) from None


def _arguments(fields: Mapping[str, Any], actor: OfActor) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args, kwargs = fields.get("args", ()), fields.get("kwargs", {})
    if not isinstance(args, list | tuple) or not isinstance(kwargs, dict):
        raise InvalidRequest(OPTION, "its args or kwargs are of another type", allowed="a list, and a dict")
    listed, named = tuple(cast("list[Any]", args)), cast("dict[str, Any]", kwargs)
    try:
        actor.signature.bind(*listed, **named)
    except TypeError as error:
        allowed = f"args and kwargs that {actor.name}{actor.signature} takes"
        raise InvalidRequest(OPTION, str(error), allowed=allowed) from None
    return listed, named


def check_names(actor_name: str, schedule: Checked | None, others: Iterable[tuple[str, Checked | None]]) -> None:
    """Check that no two actors declare a schedule of the same name.

    Raises:
        InvalidRequest: If they do.
    """
    for other, theirs in others:
        if schedule is not None and theirs is not None and other != actor_name and theirs.name == schedule.name:
            raise InvalidRequest(
                OPTION, f"{actor_name} and {other} both declare {theirs.name}", allowed="another name="
            )


def withdraw(schedules: Schedules, elsewhere: Iterable[Checked]) -> None:
    """Let a server forget schedules that live on another one, since their lane or band does by now.

    The other server is told apart from this one. If the process dies, or a server is away, between the two, the next
    worker does what is left. Until then a schedule that is withdrawn and not declared is planned nowhere, and its
    occurrences of that time do not run; one that is declared and not withdrawn is planned on both servers.

    Raises:
        QueueUnavailable: If Redis did not answer.
    """
    for each in elsewhere:
        if schedules.withdraw(each.name) is Change.OK:
            log.warning("schedule_withdrawn", schedule=each.name, reason="its lane and band are on another server")


def declare(schedules: Schedules, declared: Iterable[Checked]) -> None:
    """Tell the server schedules that actors declare, and plan those that are new. A refusal is logged: work goes on.

    Raises:
        QueueUnavailable: If Redis did not answer.
    """
    planner = Planner(schedules)
    for each in declared:
        try:
            change = schedules.declare(each)
        except InvalidRequest as error:
            log.error("schedule_not_declared", schedule=each.name, problem=str(error))
            continue
        if change is Change.OWN:
            log.info("schedule_of_operator_stays", schedule=each.name)
        elif change is Change.OK:
            planner.plan(each.name)
