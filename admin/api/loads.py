"""Gates and lanes: what holds executions back, and who works.

In the flow: figures of Redis as they are now. Everybody sees the gates of actions and lanes, and the one that is named
after oneself; others by name only who operates, or has a token that says which gates it may name. To whom a gate is
not shown, it counts among `others`.
"""

from typing import Final

from ...scheduler.engine.controls import BOUNDS
from ...scheduler.lanes import all_lanes
from ..answers.figures import GateAnswer, GateCounts, Gates, LaneAnswer, Lanes
from ..auth.tokens import Caller
from .moments import shown_at
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
    """Those that are limited or paused, and those that the limit of their kind keeps closed."""
    found = services.queue.overview.gates()
    others = [each for each in found if not sees_gate(caller, each.gate)]
    return Gates(
        gates=[
            GateAnswer(
                gate=each.gate,
                limit=each.limit,
                limited_by=each.limited_by,
                declared=each.declared,
                held=each.held,
                waiting=each.waiting,
                paused=each.paused,
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
        as_of=shown_at(services.queue.views.server_time_ms()),
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
            )
            for each, figures in all_lanes(services.queue)
        ],
        leader=None if leader is None else leader.leader_id,
        leader_epoch=None if leader is None else leader.epoch,
        source="redis",
        as_of=shown_at(services.queue.views.server_time_ms()),
    )


def sees_gate(caller: Caller, gate: str) -> bool:
    """Whether a gate is shown to this caller: the name of another's may tell who that is."""
    if gate.startswith(_OF_USER):
        return gate == _ALL_USERS or caller.sees(gate.removeprefix(_OF_USER))
    return gate.endswith("*") or gate.startswith(_SHARED) or caller.sees_gate(gate)
