"""What people do to a running installation, at random: they cancel, move, pause, and change bounds and schedules."""

import random
from collections.abc import Callable
from typing import Final

from bandmaster.scheduler.model.errors import BandmasterError
from bandmaster.scheduler.queue import ExecutionQueueService
from chaos.plan import BANDS, LANES, LIMITED, RATED, WEIGHTS
from chaos.recorded import Recorded
from chaos.timetable import Timetable

AT_ONCE: Final = {"beta": 3, "fair": 1}
"""How many of a lane at once, at the beginning."""
OVER_EVERYTHING: Final = 8
MOST_CRASHES: Final = 1_000
"""Are forgiven: a run makes many, and none may end an execution."""
PAUSED: Final = ("lane:gamma", "tenant:b", "action:alpha")


class Operators:
    """On one queue. What comes to nothing since the server is away is no change."""

    def __init__(
        self, queue: ExecutionQueueService, hasty: ExecutionQueueService, recorded: Recorded, chance: random.Random
    ) -> None:
        """Change nothing yet.

        Args:
            queue: For the beginning and the end, when nothing is away.
            hasty: For all else: its calls give up soon.
            recorded: Is told what is cancelled.
            chance: Decides.
        """
        self.done = 0
        self.timetable: Final = Timetable(queue, hasty, recorded, chance)
        self._calm_queue = queue
        self._queue = hasty
        self._recorded = recorded
        self._chance = chance
        self._ways: tuple[Callable[[], object], ...] = (
            self._cancel,
            self._cancel,
            self._move,
            self._change_limit,
            self._change_limit,
            self._change_bound,
            self._change_rate,
            self._pause,
            self._resume,
            self.timetable.act,
            self.timetable.act,
        )

    def begin(self) -> None:
        """What is in force at the beginning."""
        controls = self._calm_queue.controls
        controls.change_setting("max_crashes", MOST_CRASHES)
        controls.change_setting("max_concurrent", OVER_EVERYTHING)
        for lane, bound in AT_ONCE.items():
            controls.change_setting("max_concurrent_executions", bound, lane=lane)
        for gate, limit in LIMITED.items():
            controls.set_limit(gate, limit)
        for gate, rate in RATED.items():
            controls.rates.set(gate, rate)
        for gate, weight in WEIGHTS.items():
            self._calm_queue.shares.weigh(gate, weight)
        self.timetable.begin()

    def act(self) -> None:
        """One of them does something."""
        try:
            self._chance.choice(self._ways)()
        except BandmasterError:
            return
        self.done += 1

    def end(self) -> None:
        """Nothing is held up any more."""
        for name in PAUSED:
            self._calm_queue.controls.resume(name)
        for gate, limit in LIMITED.items():
            self._calm_queue.controls.set_limit(gate, limit)

    def _one(self, *lanes: str) -> str | None:
        members = sorted(self._queue.views.members(self._chance.choice(lanes)))
        return self._chance.choice(members) if members else None

    def _cancel(self) -> None:
        name = self._one(*LANES)
        if name is not None:
            self._recorded.cancelled.add(name)
            self._queue.cancel(name)

    def _move(self) -> None:
        name = self._one(*LANES)
        if name is not None:
            self._queue.update_priority(name, self._chance.choice(BANDS))

    def _change_limit(self) -> None:
        gate = self._chance.choice(list(LIMITED))
        self._queue.controls.set_limit(gate, self._chance.choice((0, 1, 2, 3, None)))

    def _change_bound(self) -> None:
        lane = self._chance.choice(list(AT_ONCE))
        self._queue.controls.change_setting("max_concurrent_executions", self._chance.randint(1, 3), lane=lane)

    def _change_rate(self) -> None:
        gate = self._chance.choice(list(RATED))
        self._queue.controls.rates.set(gate, self._chance.choice(("4/s", "15/s burst 4", RATED[gate])))

    def _pause(self) -> None:
        self._queue.controls.pause(self._chance.choice(PAUSED))

    def _resume(self) -> None:
        self._queue.controls.resume(self._chance.choice(PAUSED))
