"""How many threads a lane could keep busy now: what an autoscaler of workers asks for.

In the flow: the API answers with it. Work that runs counts, too: a scaler that saw what waits alone would remove the
workers of a lane that is just being emptied. Reads only, in a few round trips, and not in one moment.
"""

from dataclasses import dataclass
from typing import Any, Final

from .engine.controls import Controls
from .flows import count_in
from .keys import DEFAULT_LANE
from .model.limits import EVERYTHING
from .transport.reading import Reader, repeated
from .transport.scripts import Scripts
from .views import Views

MOST_GATES: Final = 1_000
"""So many gates with room are looked at, those with the best waiters."""


@dataclass(frozen=True, slots=True)
class LaneDemand:
    """The threads that a lane has work for."""

    lane: str
    admissible: int
    """Executions that could start at once if threads were free, as far as is known: of those that no thread has looked
    at yet, some may find a gate closed."""
    running: int
    """Threads that work on the lane's executions. One that was handed over to a pod takes none."""

    @property
    def threads(self) -> int:
        """What the workers of the lane need together."""
        return self.admissible + self.running


class Demand(Reader):
    """Reads the demand on one server. Safe to share between threads."""

    def __init__(self, scripts: Scripts, controls: Controls, views: Views) -> None:
        """Makes no call."""
        super().__init__(scripts)
        self._keys = scripts.keys
        self._controls = controls
        self._views = views

    def of(self, lane: str) -> LaneDemand:
        """Return the demand of a lane.

        Raises:
            QueueUnavailable: If the server does not answer.
        """
        (status,) = self._views.status_of([lane])
        ready, gates, slots, with_pods = self._counts(lane)
        bounds = [
            _room(status.settings["max_concurrent_executions"], status.active_count),
            _room(status.settings["max_concurrent"], slots),
        ]
        if {EVERYTHING, f"lane:{lane}"} & self._controls.paused().keys():
            bounds.append(0)
        behind_gates = sum(self._startable(lane, gates)) if gates else 0
        running = status.active_count - (with_pods if lane == DEFAULT_LANE else 0)
        return LaneDemand(lane, int(min(ready + behind_gates, *bounds)), max(0, running))

    @repeated
    def _counts(self, lane: str) -> tuple[int, list[str], int, int]:
        """How many wait that nothing is known to hold back, behind which gates with room others do; all slots, and
        those of pods, which are all of one lane."""
        pipeline, keys = self._client.pipeline(transaction=False), self._keys
        pipeline.zrange(keys.open(lane), 0, MOST_GATES - 1)
        pipeline.zcard(keys.named("lease"))
        pipeline.zcard(keys.named("lease:pods"))
        gates, held, with_pods = pipeline.execute()
        (ready,) = count_in(self._client, keys, [(lane, keys.ready(lane))])
        return ready, [gate.decode() for gate in gates], held + with_pods, with_pods

    @repeated
    def _startable(self, lane: str, gates: list[str]) -> list[int]:
        """Behind each of these gates: how many wait, and find room."""
        limits = self._controls.all_limits()
        pipeline = self._client.pipeline(transaction=False)
        for gate in gates:
            pipeline.scard(self._keys.held(gate))
        found: list[Any] = pipeline.execute()
        waiting_behind = count_in(self._client, self._keys, [(lane, self._keys.waiting(gate, lane)) for gate in gates])
        startable: list[int] = []
        for gate, waiting, held in zip(gates, waiting_behind, found, strict=True):
            limit = limits.of(gate)
            startable.append(int(min(waiting, _room(None if limit is None else limit.limit, held))))
        return startable


def _room(most: float | None, taken: int) -> float:
    return float("inf") if most is None else max(0, most - taken)
