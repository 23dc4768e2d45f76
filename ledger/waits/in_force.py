"""What holds now, as Redis has it: what was never changed has no other trace.

In the flow: whoever tells what an execution waited for reads this first, and then the ledger.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...scheduler.engine.engine import Engine
from ...scheduler.model.limits import Limits
from ...scheduler.model.rates import Rates
from ...scheduler.overview import Overview


@dataclass(frozen=True, slots=True)
class InForce:
    """Limits, rates and pauses now."""

    now_ms: int
    """The server's time."""
    limits: Limits
    paused: dict[str, int]
    """Since when, by name."""
    lane_bound: int | None
    """How many of the execution's lane may hold a slot; None: any number."""
    max_concurrent: int | None
    """How many of all lanes; None: any number."""
    lanes: tuple[str, ...]
    """All there are."""
    rates: Rates = field(default_factory=Rates)


def in_force(queue: Engine, lane: str) -> InForce:
    """Read it, for executions of one lane.

    Raises:
        QueueUnavailable: If Redis does not answer.
    """
    return in_force_by_lane(queue, [lane])[lane]


def in_force_by_lane(queue: Engine, lanes: Iterable[str]) -> dict[str, InForce]:
    """Read it for executions of some lanes, by lane: what concerns all of them is read once.

    Raises:
        QueueUnavailable: If Redis does not answer.
    """
    settings = {lane: queue.on(lane).views.status().settings for lane in lanes}
    now_ms, limits, paused = queue.views.server_time_ms(), queue.controls.all_limits(), queue.controls.paused()
    rates = queue.controls.rates.by_whom()
    names = tuple(Overview(queue.scripts).lane_names())
    return {
        lane: InForce(
            now_ms=now_ms,
            limits=limits,
            paused=paused,
            lane_bound=_bound(of_lane["max_concurrent_executions"]),
            max_concurrent=_bound(of_lane["max_concurrent"]),
            lanes=names,
            rates=rates,
        )
        for lane, of_lane in settings.items()
    }


def _bound(value: float | None) -> int | None:
    return None if value is None else int(value)
