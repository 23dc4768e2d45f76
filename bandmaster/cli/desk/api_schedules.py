"""``ApiSchedules``: schedules through the admin API, as far as the token allows.

In the flow: one side of `port.Schedules`.
"""

from typing import Any

from bandmaster.admin.answers.schedules import ScheduleAnswer
from bandmaster.admin.api.cursors import cursor_of
from bandmaster.admin.client import calls
from bandmaster.admin.client.errors import ApiProblem
from bandmaster.cli.desk.told import NextTimes
from bandmaster.cli.times import ms_of
from bandmaster.scheduler.engine.grants import Parked
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.model.errors import ScheduleExists, UnknownSchedule

_READ: frozenset[str] = frozenset({"source", "as_of"})


class ApiSchedules:
    """Schedules that an API offers. Every method raises ApiProblem and ApiUnavailable."""

    def __init__(self, client: Any) -> None:
        """Args: `client`, a `bandmaster.client.Client`, which another extra brings."""
        self._send = client.send

    def page(self, after: str, most: int) -> list[ScheduleAnswer]:
        """The next by name, after a name."""
        return self._send(calls.schedules(cursor_of(after) if after else None, most)).schedules

    def one(self, name: str) -> ScheduleAnswer:
        """One; raises UnknownSchedule."""
        return _plain(self._known(name, calls.schedule(name)))

    def put(self, schedule: Schedule, *, paused: bool, only_new: bool) -> ScheduleAnswer:
        """Add or replace one; with `only_new`, raises ScheduleExists."""
        fields = schedule.model_dump(mode="json", exclude_defaults=True, exclude={"name", "start", "end"})
        times = {"start_at": schedule.start, "end_at": schedule.end}
        fields |= {name: moment.isoformat() for name, moment in times.items() if moment is not None}
        fields |= {"paused": True} if paused else {}
        try:
            return _plain(self._send(calls.set_schedule(schedule.name, fields, "*" if only_new else None)))
        except ApiProblem as problem:
            if problem.code == "schedule_exists":
                raise ScheduleExists(schedule.name) from None
            raise

    def remove(self, name: str) -> bool:
        """Remove one; whether an application declares it. Raises UnknownSchedule."""
        return self._known(name, calls.remove_schedule(name)).declared

    def pause(self, name: str) -> bool:
        """Pause one; whether it was active."""
        return self._known(name, calls.pause_schedule(name)).changed

    def resume(self, name: str) -> bool:
        """Resume one; whether it was paused."""
        return self._known(name, calls.resume_schedule(name)).changed

    def run_now(self, name: str, key: str) -> Parked:
        """Run one once; the same key again is the same execution."""
        accepted = self._known(name, calls.run_schedule(name, key))
        return Parked(accepted.execution_id, accepted.state, -1 if accepted.position is None else accepted.position)

    def next(self, name: str, most: int) -> NextTimes:
        """Its next times."""
        told = self._known(name, calls.next_times(name, most))
        return NextTimes(told.tz, told.paused, [ms_of(each) for each in told.times])

    def _known(self, name: str, call: calls.Call[Any]) -> Any:
        try:
            return self._send(call)
        except ApiProblem as problem:
            if problem.code == "not_found":
                raise UnknownSchedule(name) from None
            raise


def _plain(answer: ScheduleAnswer) -> ScheduleAnswer:
    return ScheduleAnswer.model_validate(answer.model_dump(exclude=set(_READ)))
