"""Gates and lanes: what holds executions back, who works, and how many more could.

In the flow: figures of Redis as they are now. Everybody sees the gates of actions and lanes, and the one that is named
after oneself; others by name only who operates, or has a token that says which gates it may name. To whom a gate is
not shown, it counts among `others`.
"""

from typing import Final

from ...scheduler.demand import Demand
from ...scheduler.engine.controls import BOUNDS
from ...scheduler.keys import DEFAULT_LANE
from ...scheduler.lanes import all_lanes
from ..answers.figures import DemandAnswer, GateAnswer, GateCounts, Gates, LaneAnswer, Lanes
from ..auth.tokens import Caller
from ..errors import not_found
from .moments import now_at, shown_at
from .names import Lane
from .queue_routes import QueueRouter
from .requiring import ReadCaller, ServicesOf

_OF_USER: Final = "user:"
_ALL_USERS: Final = "user:*"
_SHARED: Final = ("action:", "lane:")
"""What everybody waits behind, and sees."""
router: Final = QueueRouter()
lanes: Final = QueueRouter()


@router.get("/gates", summary="List gates, the most blocked first")
def list_gates(services: ServicesOf, caller: ReadCaller) -> Gates:
    """Those with a limit, a rate, a weight or a pause, and those that the limit or rate of their kind keeps closed."""
    now_ms = services.queue.views.server_time_ms()
    found = services.queue.gates.all()
    others = [each for each in found if not sees_gate(caller, each.gate)]
    return Gates(
        gates=[
            GateAnswer(
                gate=each.gate,
                limit=each.limit,
                limited_by=each.limited_by,
                declared=each.declared,
                auto=None if each.auto is None else str(each.auto),
                held=each.held,
                waiting=each.waiting,
                paused=each.paused,
                rate=None if each.rate is None else str(each.rate.rate),
                rated_by=each.rate and each.rate.name,
                rate_declared=each.rate is not None and each.rate.is_declared,
                opens_at=None if each.opens_in_ms is None else shown_at(now_ms + each.opens_in_ms),
                weight=each.weight,
            )
            for each in found
            if sees_gate(caller, each.gate)
        ],
        others=GateCounts(
            gates=len(others),
            held=sum(each.held or 0 for each in others),
            waiting=sum(each.waiting for each in others),
        ),
        source="redis",
        as_of=shown_at(now_ms),
    )


@lanes.get("/lanes", summary="List lanes and whether workers ask for them")
def list_lanes(services: ServicesOf, caller: ReadCaller) -> Lanes:
    """Each worker that lives asks for its lanes every second."""
    leader = services.queue.views.leader()
    return Lanes(
        lanes=[
            LaneAnswer(
                lane=each.lane,
                live=each.live,
                asked_seconds_ago=None if each.asked_ms_ago is None else each.asked_ms_ago / 1000,
                executions=each.size,
                queue_depth=figures.queue_depth,
                active_count=figures.active_count,
                scheduled_count=figures.scheduled_count,
                by_priority=figures.pending_by_priority,
                bounds={name: value for name, value in figures.settings.items() if name in BOUNDS},
                fair_by=each.fair_by,
            )
            for each, figures in all_lanes(services.queue)
        ],
        leader=None if leader is None else leader.leader_id,
        leader_epoch=None if leader is None else leader.epoch,
        source="redis",
        as_of=now_at(services.queue),
    )


@lanes.get("/lanes/{lane}/demand", summary="Show how many threads a lane could keep busy")
def show_demand(services: ServicesOf, caller: ReadCaller, lane: Lane) -> DemandAnswer:
    """For an autoscaler of workers. 404 if nothing was ever sent to the lane, and no worker ever asked for it."""
    queue = services.queue
    if lane != DEFAULT_LANE and not queue.overview.is_known(f"lane:{lane}"):
        raise not_found(f"nothing was ever sent to lane {lane}")
    demand = Demand(queue.scripts, queue.controls, queue.views).of(lane)
    return DemandAnswer(
        lane=lane,
        admissible=demand.admissible,
        running=demand.running,
        threads=demand.threads,
        source="redis",
        as_of=now_at(queue),
    )


def sees_gate(caller: Caller, gate: str) -> bool:
    """Whether a gate is shown to this caller: the name of another's may tell who that is."""
    if gate.startswith(_OF_USER):
        return gate == _ALL_USERS or caller.sees(gate.removeprefix(_OF_USER))
    return gate.endswith("*") or gate.startswith(_SHARED) or caller.sees_gate(gate)
