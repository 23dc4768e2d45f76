"""Fair lanes: by which kind of gates a lane is fair, and the weights of those gates; effective at once everywhere.

In the flow: the same scripts as those of the command line, under the caller's name. What a lane is, an admin says, as
with its bounds; weights are an operator's, as limits are.
"""

from typing import Final

from ..answers.shares import OneShare, OneWeight, ShareAnswer, Shares, WeightAnswer, Weights
from ..services import Services
from .moments import now_at
from .names import Lane, OneGate
from .queue_routes import QueueRouter
from .requests import NewShare, NewWeight
from .requiring import AdminCaller, OperateCaller, ServicesOf
from .strict_bodies import StrictRoute

router: Final = QueueRouter(route_class=StrictRoute)


@router.get("/shares", summary="List fair lanes")
def list_shares(services: ServicesOf, caller: OperateCaller) -> Shares:
    """Those in which gates of a kind take turns; all others are strict."""
    found = services.queue.shares.fair()
    return Shares(
        shares=[ShareAnswer(lane=lane, kind=kind) for lane, kind in found.items()],
        source="redis",
        as_of=now_at(services.queue),
    )


@router.get("/shares/{lane}", summary="Show whose turns a lane gives")
def show_share(services: ServicesOf, caller: OperateCaller, lane: Lane) -> OneShare:
    """No kind: its order is strict."""
    return _share_of(services, lane)


@router.put("/shares/{lane}", summary="Make a lane fair")
def set_share(services: ServicesOf, caller: AdminCaller, lane: Lane, new: NewShare) -> OneShare:
    """What waits already goes first."""
    services.queue.shares.share(lane, new.kind, by=caller.by)
    return _share_of(services, lane)


@router.delete("/shares/{lane}", summary="Make a lane strict again")
def end_share(services: ServicesOf, caller: AdminCaller, lane: Lane) -> OneShare:
    """What waits keeps its score."""
    services.queue.shares.share(lane, None, by=caller.by)
    return _share_of(services, lane)


@router.get("/weights", summary="List the weights of gates")
def list_weights(services: ServicesOf, caller: OperateCaller) -> Weights:
    """Those that were set."""
    found = services.queue.shares.weights()
    return Weights(
        weights=[WeightAnswer(gate=gate, weight=weight) for gate, weight in found.items()],
        source="redis",
        as_of=now_at(services.queue),
    )


@router.get("/weights/{gate:path}", summary="Show the weight of a gate")
def show_weight(services: ServicesOf, caller: OperateCaller, gate: OneGate) -> OneWeight:
    """1, if none was set."""
    return _weight_of(services, gate)


@router.put("/weights/{gate:path}", summary="Set the weight of a gate")
def set_weight(services: ServicesOf, caller: OperateCaller, gate: OneGate, new: NewWeight) -> OneWeight:
    """It holds for what is accepted from now on."""
    services.queue.shares.weigh(gate, new.weight, by=caller.by)
    return _weight_of(services, gate)


@router.delete("/weights/{gate:path}", summary="Let a gate have the weight 1 again")
def lift_weight(services: ServicesOf, caller: OperateCaller, gate: OneGate) -> OneWeight:
    """It holds for what is accepted from now on."""
    services.queue.shares.weigh(gate, None, by=caller.by)
    return _weight_of(services, gate)


def _share_of(services: Services, lane: str) -> OneShare:
    return OneShare(lane=lane, kind=services.queue.shares.kind_of(lane), source="redis", as_of=now_at(services.queue))


def _weight_of(services: Services, gate: str) -> OneWeight:
    weight = services.queue.shares.weight_of(gate)
    return OneWeight(gate=gate, weight=weight, source="redis", as_of=now_at(services.queue))
