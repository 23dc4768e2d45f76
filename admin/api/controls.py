"""Limits, pauses and settings: read and changed, effective at once everywhere.

In the flow: the same scripts as those of the command line, under the caller's name. A setting is changed only by who
says what it saw (`If-Match`), so that two operators do not undo each other's change unseen.
"""

import re
from typing import Annotated, Final

from fastapi import Header, Query, Response

from ...scheduler.engine.controls import BOUNDS, InForce
from ...scheduler.gate_loads import GateLoad
from ...scheduler.model.errors import shown
from ..answers.controls import Changed, LimitAnswer, Limits, OneLimit, OneSetting, Pauses, SettingAnswer, Settings
from ..auth.tokens import Caller
from ..errors import Refused, not_found
from ..services import Services
from .loads import sees_gate
from .moments import now_at, shown_at
from .names import Lane, Limited, Pausable
from .queue_routes import QueueRouter
from .requests import NewLimit, NewSetting
from .requiring import AdminCaller, OperateCaller, ReadCaller, ServicesOf
from .strict_bodies import StrictRoute

router: Final = QueueRouter(route_class=StrictRoute)
_NONE: Final = "none"
_ETAG: Final = re.compile(r'"(none|[0-9]{1,18}(?:\.[0-9]{1,6})?)"')
_ANY: Final = "*"
OfLane = Annotated[Lane | None, Query(description="The lane whose bound it is; none: lane `executions`.")]
IfMatch = Annotated[str | None, Header(description="The ETag with which it was read, or `*` whatever it is.")]


@router.get("/limits", summary="List limits")
def list_limits(services: ServicesOf, caller: OperateCaller) -> Limits:
    """Of gates, and of kinds of gates like `tenant:*`."""
    return Limits(
        limits=[_limit(each) for each in services.queue.gates.limited()],
        source="redis",
        as_of=now_at(services.queue),
    )


@router.get("/limits/{gate:path}", summary="Show the limit of a gate")
def show_limit(services: ServicesOf, caller: OperateCaller, gate: Limited) -> OneLimit:
    """The one that holds for it, its own or that of its kind."""
    return _limit_of(services, gate)


@router.put("/limits/{gate:path}", summary="Set the limit of a gate, or of a kind")
def set_limit(services: ServicesOf, caller: OperateCaller, gate: Limited, new: NewLimit) -> OneLimit:
    """A lowered limit takes effect as running executions end."""
    services.queue.controls.set_limit(gate, new.wanted, by=caller.by)
    return _limit_of(services, gate)


@router.delete("/limits/{gate:path}", summary="Lift the limit of a gate, or of a kind")
def lift_limit(services: ServicesOf, caller: OperateCaller, gate: Limited) -> OneLimit:
    """What an actor declares, or the limit of its kind, holds from then on."""
    services.queue.controls.set_limit(gate, None, by=caller.by)
    return _limit_of(services, gate)


@router.get("/pauses", summary="List what is paused")
def list_pauses(services: ServicesOf, caller: ReadCaller) -> Pauses:
    """Gates, lanes (`lane:NAME`), or everything (`*`); of users, only oneself, unless one is an operator."""
    return Pauses(
        paused={
            name: shown_at(since_ms)
            for name, since_ms in services.queue.controls.paused().items()
            if sees_gate(caller, name)
        },
        source="redis",
        as_of=now_at(services.queue),
    )


@router.put("/pauses/{name:path}", summary="Pause a gate, a lane or everything")
def pause(services: ServicesOf, caller: OperateCaller, name: Pausable) -> Changed:
    """What runs goes on."""
    return Changed(name=name, changed=services.queue.controls.pause(name, by=caller.by))


@router.delete("/pauses/{name:path}", summary="End a pause")
def resume(services: ServicesOf, caller: OperateCaller, name: Pausable) -> Changed:
    """Time in a pause does not count as waiting time."""
    return Changed(name=name, changed=services.queue.controls.resume(name, by=caller.by))


@router.get("/settings", summary="List the runtime settings")
def list_settings(services: ServicesOf, caller: ReadCaller, lane: OfLane = None) -> Settings:
    """The values in force."""
    return Settings(
        settings=[
            SettingAnswer(name=name, lane=_lane_of(services, name, lane), value=value)
            for name, value in _values(services, lane).items()
        ],
        source="redis",
        as_of=now_at(services.queue),
    )


@router.get("/settings/{name}", summary="Show a runtime setting")
def show_setting(
    services: ServicesOf, caller: OperateCaller, name: str, response: Response, lane: OfLane = None
) -> OneSetting:
    """Its ETag says which value was seen."""
    return _shown(services, response, name, lane)


@router.put("/settings/{name}", summary="Change a runtime setting")
def change_setting(
    services: ServicesOf,
    caller: AdminCaller,
    name: str,
    new: NewSetting,
    response: Response,
    lane: OfLane = None,
    if_match: IfMatch = None,
) -> OneSetting:
    """428 without If-Match; 412 if it has another value by now."""
    _change(services, caller, name, new.value, lane, if_match)
    return _shown(services, response, name, lane)


@router.delete("/settings/{name}", summary="Let a runtime setting have its default again")
def reset_setting(
    services: ServicesOf,
    caller: AdminCaller,
    name: str,
    response: Response,
    lane: OfLane = None,
    if_match: IfMatch = None,
) -> OneSetting:
    """428 without If-Match; 412 if it has another value by now."""
    _change(services, caller, name, None, lane, if_match)
    return _shown(services, response, name, lane)


def _change(
    services: Services, caller: Caller, name: str, value: int | None, lane: str | None, if_match: str | None
) -> None:
    if if_match is None:
        detail = "say which value is to be changed: the header If-Match with the ETag of GET, or * whatever it is"
        raise Refused(428, "if_match_needed", detail)
    expected = None
    if if_match.strip() != _ANY:
        matched = _ETAG.fullmatch(if_match.strip())
        if matched is None:
            raise Refused(412, "changed_meanwhile", "If-Match has no ETag of this setting: read it again")
        expected = InForce(None if matched[1] == _NONE else float(matched[1]))
    if name not in _values(services, lane):
        raise _unknown(name)
    services.queue.controls.change_setting(name, value, lane=lane, expected=expected, by=caller.by)


def _shown(services: Services, response: Response, name: str, lane: str | None) -> OneSetting:
    values = _values(services, lane)
    if name not in values:
        raise _unknown(name)
    value = values[name]
    response.headers["ETag"] = f'"{_NONE}"' if value is None else f'"{value:.15g}"'
    as_of = now_at(services.queue)
    return OneSetting(name=name, lane=_lane_of(services, name, lane), value=value, source="redis", as_of=as_of)


def _values(services: Services, lane: str | None) -> dict[str, float | None]:
    if lane is None:
        return services.queue.views.status().settings
    settings = services.queue.on(lane).views.status().settings
    return {name: value for name, value in settings.items() if name in BOUNDS}


def _lane_of(services: Services, name: str, lane: str | None) -> str | None:
    return (lane or services.queue.lane) if name in BOUNDS else None


def _unknown(name: str) -> Refused:
    return not_found(f"{shown(name)} is not a setting here: see the list of settings")


def _limit(load: GateLoad) -> LimitAnswer:
    return LimitAnswer(
        gate=load.gate,
        limit=load.limit,
        limited_by=load.limited_by,
        declared=load.declared,
        held=load.held,
        auto=None if load.auto is None else str(load.auto),
    )


def _limit_of(services: Services, gate: str) -> OneLimit:
    (load,) = services.queue.gates.limited([gate])
    as_of = now_at(services.queue)
    return OneLimit(**_limit(load).model_dump(), source="redis", as_of=as_of)
