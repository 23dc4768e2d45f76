"""The schedules of a chaos run, and what people do to them: they add, change, pause, resume and remove them.

Each fires once a minute, put off by a time of its own, so that some occurrence is due every other second.
"""

import random
import time
from collections.abc import Callable
from typing import Final

from bandmaster.scheduler.engine.held_schedule import Held
from bandmaster.scheduler.model.errors import ScheduleExists, UnknownSchedule
from bandmaster.scheduler.planning import put
from bandmaster.scheduler.queue import ExecutionQueueService
from chaos.plan import SCHEDULES, schedule_of
from chaos.recorded import Recorded, Timed

_PAGE: Final = 200


class Timetable:
    """On one queue."""

    def __init__(
        self, queue: ExecutionQueueService, hasty: ExecutionQueueService, recorded: Recorded, chance: random.Random
    ) -> None:
        """As of `Operators`; nothing is changed yet."""
        self._calm = queue.schedules
        self._schedules = hasty.schedules
        self._recorded = recorded
        self._chance = chance
        self._ways: tuple[Callable[[str], object], ...] = (
            self._schedules.pause,
            self._schedules.resume,
            self._schedules.resume,
            self._schedules.remove,
            self._add,
            self._add,
            self._change,
        )

    def begin(self) -> None:
        """All of them, active."""
        for name in SCHEDULES:
            put(self._calm, schedule_of(name))

    def act(self) -> None:
        """Somebody does something to one of them; what is so already, or is not there, is no change."""
        try:
            self._chance.choice(self._ways)(self._chance.choice(SCHEDULES))
        except (UnknownSchedule, ScheduleExists):
            return

    def end(self, longest_seconds: float, go_on: Callable[[], object]) -> None:
        """Wait until all that are active are planned further than now, note how far that is, and remove them.

        Args:
            longest_seconds: Then it is noted as it is.
            go_on: Is called meanwhile, again and again.
        """
        deadline = time.monotonic() + longest_seconds
        while True:
            # In this order: what is planned up to now then is certainly planned up to now.
            now_ms = self._calm.server_time_ms()
            kept = self._calm.page(most=_PAGE)
            if all(each.is_paused or each.cursor_ms > now_ms for each in kept) or time.monotonic() > deadline:
                break
            go_on()
            time.sleep(0.2)
        for each in kept:
            self._recorded.schedules[each.name] = _timed(each, now_ms)
            self._calm.remove(each.name)

    def _add(self, name: str) -> None:
        put(self._schedules, schedule_of(name), only_new=True)

    def _change(self, name: str) -> None:
        put(self._schedules, schedule_of(name, seconds=round(self._chance.uniform(0.0, 0.3), 3)))


def _timed(held: Held, now_ms: int) -> Timed:
    return Timed(held.cursor_ms, held.skipped, now_ms)
