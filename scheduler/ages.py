"""How long the work of lanes has waited, could have begun, and stood still.

In the flow: the ledger's metrics and the verdicts on the queue are made of these; nothing here changes anything. All
lanes are read in one round trip, not in one moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .keys import fair_field, fair_kind
from .model.limits import EVERYTHING
from .model.priority import BAND_WIDTH_MS, HALF_BAND_MS, Priority
from .transport.reading import Reader, repeated
from .views import QueueStatus

_BANDS: Final = len(Priority)
_READ_A_LANE: Final = _BANDS + 3


@dataclass(frozen=True, slots=True)
class LaneAges:
    """The ages of a lane's work at one moment; 0 where there is no such work."""

    oldest_ms: int
    """How long the execution that waits longest has waited."""
    startable_ms: int
    """How long the one that would start next has waited, though slots are free: no limit and no pause is known to hold
    it back, but nobody has taken it."""
    standstill_ms: int
    """How long something has waited or run while no slot was granted or given back."""


class Ages(Reader):
    """Reads the ages on one server."""

    @repeated
    def of(self, lanes: Sequence[QueueStatus]) -> list[LaneAges]:
        """The ages of these lanes, whose figures were read before, in order.

        Raises:
            QueueUnavailable: If the server does not answer.
        """
        if not lanes:
            return []
        keys, names = self._scripts.keys, [each.lane for each in lanes]
        seconds, microseconds = self._client.time()
        now_ms = seconds * 1000 + microseconds // 1000
        pipeline = self._client.pipeline(transaction=False)
        pipeline.zcard(keys.named("lease"))
        pipeline.zcard(keys.named("lease:pods"))
        pipeline.hkeys(keys.named("paused"))
        pipeline.hmget(keys.named("rounds"), [f"moved:{lane}" for lane in names])
        pipeline.hmget(keys.named("settings"), [fair_field(lane) for lane in names])
        for lane in names:
            for band in Priority:
                middle = band * BAND_WIDTH_MS + now_ms
                bounds = (middle - HALF_BAND_MS, middle + HALF_BAND_MS)
                pipeline.zrangebyscore(keys.pending(lane), *bounds, start=0, num=1, withscores=True)
            pipeline.zrange(keys.times(lane), 0, 0, withscores=True)
            pipeline.zscore(keys.named("lanes"), lane)
            pipeline.scard(keys.active(lane))
        held, held_by_pods, paused, moved, fair, *found = pipeline.execute()
        most = lanes[0].settings.get("max_concurrent")
        is_open = EVERYTHING.encode() not in paused and (most is None or held + held_by_pods < most)
        ages: list[LaneAges] = []
        for number, lane in enumerate(names):
            *firsts, first_of_fair, best, running = found[number * _READ_A_LANE : (number + 1) * _READ_A_LANE]
            if fair_kind(fair[number]) is not None:
                firsts = [first_of_fair]  # its scores are tags, which tell no time
            oldest_ms = max((_age_ms(first[0][1], now_ms) for first in firsts if first), default=0)
            may_start = is_open and f"lane:{lane}".encode() not in paused
            startable_ms = _age_ms(best, now_ms) if may_start and best is not None else 0
            ages.append(LaneAges(oldest_ms, startable_ms, _standstill_ms(moved[number], running, oldest_ms, now_ms)))
        return ages

    @repeated
    def dead_lettered(self, within_ms: int) -> int:
        """How many of the dead letters became such within so many milliseconds.

        Raises:
            QueueUnavailable: If the server does not answer.
        """
        seconds, microseconds = self._client.time()
        since_ms = seconds * 1000 + microseconds // 1000 - within_ms
        return self._client.zcount(self._scripts.keys.named("dead"), since_ms, "+inf")


def _age_ms(score: float, now_ms: int) -> int:
    """How long ago the time in a score is, whatever its band."""
    return max(0, int(now_ms - (score - round((score - now_ms) / BAND_WIDTH_MS) * BAND_WIDTH_MS)))


def _standstill_ms(moved: Any, running: int, oldest_ms: int, now_ms: int) -> int:
    """What runs was granted, so that nothing moved for longer than since then; what waits may wait for the first grant
    of all, or for the first since the lane was empty.
    """
    since_ms = None if moved is None else max(0, now_ms - int(moved))
    if running:
        # Without the field, the server was restored, or an older release granted it: it is not known.
        return since_ms or 0
    return oldest_ms if since_ms is None else min(since_ms, oldest_ms)
