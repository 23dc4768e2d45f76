"""Rates: how many grants pass a gate, or each gate of a kind, in a time; effective at once everywhere.

In the flow: the same script as that of the command line, under the caller's name.
"""

from typing import Final

from ...scheduler.engine.rate_controls import RateInForce
from ...scheduler.model.rates import Rate
from ..answers.controls import OneRate, RateAnswer, Rates
from ..services import Services
from .moments import now_at
from .names import Limited
from .queue_routes import QueueRouter
from .requests import NewRate
from .requiring import OperateCaller, ServicesOf
from .strict_bodies import StrictRoute

router: Final = QueueRouter(route_class=StrictRoute)


@router.get("/rates", summary="List rates")
def list_rates(services: ServicesOf, caller: OperateCaller) -> Rates:
    """Of gates, and of kinds of gates like `tenant:*`."""
    return Rates(
        rates=[_rate(name, each) for name, each in services.queue.controls.rates.all().items()],
        source="redis",
        as_of=now_at(services.queue),
    )


@router.get("/rates/{gate:path}", summary="Show the rate of a gate")
def show_rate(services: ServicesOf, caller: OperateCaller, gate: Limited) -> OneRate:
    """The one that holds for it, its own or that of its kind."""
    return _rate_of(services, gate)


@router.put("/rates/{gate:path}", summary="Set the rate of a gate, or of a kind")
def set_rate(services: ServicesOf, caller: OperateCaller, gate: Limited, new: NewRate) -> OneRate:
    """What passed before the change still counts."""
    services.queue.controls.rates.set(gate, Rate.read(new.rate), by=caller.by)
    return _rate_of(services, gate)


@router.delete("/rates/{gate:path}", summary="Lift the rate of a gate, or of a kind")
def lift_rate(services: ServicesOf, caller: OperateCaller, gate: Limited) -> OneRate:
    """What an actor declares, or the rate of its kind, holds from then on."""
    services.queue.controls.rates.set(gate, None, by=caller.by)
    return _rate_of(services, gate)


def _rate(gate: str, held: RateInForce | None) -> RateAnswer:
    return RateAnswer(
        gate=gate,
        rate=None if held is None else str(held.rate),
        rated_by=None if held is None else held.name,
        declared=held is not None and held.is_declared,
    )


def _rate_of(services: Services, gate: str) -> OneRate:
    answer = _rate(gate, services.queue.controls.rates.of(gate))
    as_of = now_at(services.queue)
    return OneRate(**answer.model_dump(), source="redis", as_of=as_of)
