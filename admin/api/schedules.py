"""Schedules: what is run again and again; added, paused, run and removed.

In the flow: the same scripts as those of the command line, under the caller's name. Whoever adds one says what is run,
as whoever, behind any gate: so that is an admin's. A request that is sent again has one effect: the same schedule
changes nothing, and a run under an `Idempotency-Key` is one execution.
"""

from typing import Annotated, Any, Final

from fastapi import Header, Query, Response

from ...k8s.runnable import check_runnable
from ...scheduler.events.schedule import Schedule, occurrence_id
from ...scheduler.model.errors import DuplicateExecution, InvalidRequest, UnknownSchedule, shown
from ...scheduler.model.states import State
from ...scheduler.planning import put, resume, run_now
from ...scheduler.plans import next_times
from ..answers.controls import Changed
from ..answers.executions import Accepted
from ..answers.schedules import NextTimes, OneSchedule, SchedulePage, ScheduleRemoved, schedule_answer
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..services import Services
from .cursors import cursor_of, read_cursor
from .moments import now_at, shown_at
from .names import ScheduleName
from .queue_routes import QueueRouter
from .requests import NewSchedule
from .requiring import AdminCaller, OperateCaller, ServicesOf
from .strict_bodies import StrictRoute
from .submitting import Key

PAGE: Final = 50
MOST_A_PAGE: Final = 200
MOST_TIMES: Final = 100
router: Final = QueueRouter(route_class=StrictRoute)
_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": Accepted, "description": "It had been accepted, under the same Idempotency-Key."}
}
IfNoneMatch = Annotated[str | None, Header(description="`*`: only if there is no schedule of this name.")]


@router.get("/schedules", summary="List schedules")
def list_schedules(
    services: ServicesOf,
    caller: OperateCaller,
    cursor: Annotated[str | None, Query(description="`next` of an earlier answer.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_A_PAGE)] = PAGE,
) -> SchedulePage:
    """By name. What they run is told to admins."""
    after = "" if cursor is None else read_cursor(cursor, str)[0]
    found = services.queue.schedules.page(after, limit + 1)
    page, now_ms, tells = found[:limit], services.queue.schedules.server_time_ms(), caller.token.may(Scope.ADMIN)
    return SchedulePage(
        schedules=[schedule_answer(each, now_ms, tells_payload=tells) for each in page],
        next=cursor_of(page[-1].name) if len(found) > limit else None,
        source="redis",
        as_of=shown_at(now_ms),
    )


@router.get("/schedules/{name}", summary="Show a schedule")
def show_schedule(services: ServicesOf, caller: OperateCaller, name: ScheduleName) -> OneSchedule:
    """What it runs is told to admins."""
    return _one(services, caller, name)


@router.put("/schedules/{name}", summary="Add or replace a schedule")
def set_schedule(
    services: ServicesOf,
    caller: AdminCaller,
    name: ScheduleName,
    new: NewSchedule,
    if_none_match: IfNoneMatch = None,
) -> OneSchedule:
    """Occurrences follow it from now on; what is not due of the one before is taken back."""
    if if_none_match not in (None, "*"):
        raise InvalidRequest("If-None-Match", f"{shown(if_none_match)} is not known", allowed="*")
    schedule = Schedule.of(new.fields() | {"name": name})
    if schedule.command is not None:
        check_runnable(schedule.event(occurrence_id(name, 0), None))
    only_new = if_none_match == "*"
    put(services.queue.schedules, schedule, paused=new.paused, only_new=only_new, by=caller.by)
    return _one(services, caller, name)


@router.delete("/schedules/{name}", summary="Remove a schedule")
def remove_schedule(services: ServicesOf, caller: AdminCaller, name: ScheduleName) -> ScheduleRemoved:
    """What was started of it goes on."""
    removed = services.queue.schedules.remove(name, by=caller.by)
    return ScheduleRemoved(name=name, declared=removed.is_declared)


@router.put("/schedules/{name}/pause", summary="Pause a schedule")
def pause_schedule(services: ServicesOf, caller: OperateCaller, name: ScheduleName) -> Changed:
    """What was started goes on; nothing else is started."""
    return Changed(name=name, changed=services.queue.schedules.pause(name, by=caller.by))


@router.delete("/schedules/{name}/pause", summary="Resume a schedule")
def resume_schedule(services: ServicesOf, caller: OperateCaller, name: ScheduleName) -> Changed:
    """What was due in the pause does not count as missed."""
    return Changed(name=name, changed=resume(services.queue.schedules, name, by=caller.by))


@router.post("/schedules/{name}/run", status_code=201, summary="Run a schedule now", responses=_ANSWERS)
def run_schedule(
    services: ServicesOf, caller: OperateCaller, name: ScheduleName, response: Response, idempotency_key: Key = None
) -> Accepted:
    """Once, beside its own times, though it is paused."""
    key = None if idempotency_key is None else f"{caller.token.token_id}\n{idempotency_key}"
    try:
        parked = run_now(services.queue.schedules, name, key)
    except DuplicateExecution as known:
        response.status_code = 200
        return Accepted(execution_id=known.execution_id or "", state=known.state or State.PENDING)
    return Accepted(execution_id=parked.execution_id, state=parked.state, position=_from_zero(parked.position))


@router.get("/schedules/{name}/next", summary="Show the next times of a schedule")
def show_next_times(
    services: ServicesOf,
    caller: OperateCaller,
    name: ScheduleName,
    count: Annotated[int, Query(ge=1, le=MOST_TIMES)] = 5,
) -> NextTimes:
    """As its line and zone say."""
    held = services.queue.schedules.get(name)
    schedule = held.schedule
    times = next_times(schedule, services.queue.schedules.server_time_ms(), count)
    return NextTimes(
        name=name,
        tz=schedule.tz,
        paused=held.is_paused,
        times=[shown_at(each) for each in times],
        source="redis",
        as_of=now_at(services.queue),
    )


def _from_zero(position: int) -> int | None:
    return position if position >= 0 else None


def _one(services: Services, caller: Caller, name: str) -> OneSchedule:
    now_ms = services.queue.schedules.server_time_ms()
    found = services.queue.schedules.some([name])
    if not found:
        raise UnknownSchedule(name)
    answer = schedule_answer(found[0], now_ms, tells_payload=caller.token.may(Scope.ADMIN))
    return OneSchedule(**answer.model_dump(), source="redis", as_of=shown_at(now_ms))
