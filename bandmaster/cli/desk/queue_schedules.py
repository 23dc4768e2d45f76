"""``QueueSchedules``: schedules beside Redis, by the queue's own service.

In the flow: one side of `port.Schedules`. What a command does not tell the API either is told here the same way.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bandmaster.cli.desk.told import NextTimes
from bandmaster.cli.opening import Opened
from bandmaster.scheduler.engine.grants import Parked
from bandmaster.scheduler.engine.held_schedule import Held
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.planning import put, resume, run_now
from bandmaster.scheduler.plans import next_times

if TYPE_CHECKING:
    from bandmaster.admin.answers.schedules import ScheduleAnswer


class QueueSchedules:
    """Schedules of a queue beside Redis."""

    def __init__(self, bandmaster: Opened) -> None:
        self._schedules = bandmaster.queue.schedules

    def page(self, after: str, most: int) -> "list[ScheduleAnswer]":
        """The next by name, after a name."""
        now_ms = self._schedules.server_time_ms()
        return [_answer(each, now_ms) for each in self._schedules.page(after, most)]

    def one(self, name: str) -> "ScheduleAnswer":
        """One; raises UnknownSchedule."""
        return _answer(self._schedules.get(name), self._schedules.server_time_ms())

    def put(self, schedule: Schedule, *, paused: bool, only_new: bool) -> "ScheduleAnswer":
        """Add or replace one; with `only_new`, raises ScheduleExists."""
        put(self._schedules, schedule, paused=paused, only_new=only_new)
        return self.one(schedule.name)

    def remove(self, name: str) -> bool:
        """Remove one; whether an application declares it. Raises UnknownSchedule."""
        return self._schedules.remove(name).is_declared

    def pause(self, name: str) -> bool:
        """Pause one; whether it was active."""
        return self._schedules.pause(name)

    def resume(self, name: str) -> bool:
        """Resume one; whether it was paused."""
        return resume(self._schedules, name)

    def run_now(self, name: str, key: str) -> Parked:
        """Run one once; the same key again is the same execution, and is refused as a duplicate."""
        return run_now(self._schedules, name, key)

    def next(self, name: str, most: int) -> NextTimes:
        """Its next times."""
        held = self._schedules.get(name)
        schedule = held.schedule
        return NextTimes(schedule.tz, held.is_paused, next_times(schedule, self._schedules.server_time_ms(), most))


def _answer(held: Held, now_ms: int) -> "ScheduleAnswer":
    # Late: only a command of schedules pays for the models of the API.
    answers: Any = import_module("bandmaster.admin.answers.schedules")
    return answers.schedule_answer(held, now_ms, tells_payload=True)
