"""``PlanningRounds``: the leader's planning of schedules, a job of APScheduler with a trigger of our own.

In the flow: while this process leads, the job runs whenever a schedule is to be planned, and once a second at least:
somebody may have added one. Occurrences are parked long before they are due, so a second more or less delays none.
`cronsim` says when a line of cron is due (`model/cron.py`), and not APScheduler, whose own trigger takes 0 for Monday
and fires twice, or at no time, when clocks change. If the leader dies or hangs here, the next one plans what is left;
calls of the old one carry its epoch and are refused.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from ...configs.extras import import_extra
from ...configs.logger import Logger
from ..engine.schedules import Schedules
from ..model.errors import NotLeader, QueueUnavailable
from ..planning import Planner
from ..transport.scripts import Scripts
from .leadership import Leadership
from .progress import Progress

if TYPE_CHECKING:
    from apscheduler.schedulers.base import BaseScheduler

log = Logger(__name__)
JOB_ID: Final = "plan"
LONGEST_SECONDS: Final = 1.0
SHORTEST_SECONDS: Final = 0.05


class PlanningRounds:
    """Plans while the process leads."""

    def __init__(self, scripts: Scripts, leadership: Leadership) -> None:
        self.progress: Final = Progress("plans_fail", "planning_hangs")
        self._leadership = leadership
        self._schedules = Schedules(scripts)
        self._planner = Planner(self._schedules)
        self._wait_seconds = LONGEST_SECONDS

    def add_job(self, scheduler: "BaseScheduler") -> None:
        """Add the job to an APScheduler; it runs at once, too."""
        scheduler.add_job(  # pyright: ignore[reportUnknownMemberType]
            self.round,
            trigger=planning_trigger(lambda: self._wait_seconds),
            id=JOB_ID,
            max_instances=1,
            misfire_grace_time=None,  # run it however late it is
            next_run_time=datetime.now(UTC),
        )

    def round(self) -> bool:
        """Plan what is to be planned now, if this process leads; return whether it did."""
        epoch = self._leadership.epoch
        if not self._leadership.leads or epoch is None:
            self._wait_seconds = LONGEST_SECONDS
            return False
        try:
            with self.progress.making():
                self._planner.round(epoch, self._leadership.leader_id)
                self._wait_seconds = self._seconds_to_next()
        except (QueueUnavailable, NotLeader) as error:
            self._wait_seconds = LONGEST_SECONDS
            log.warning("planning_failed", error=str(error))
            return False
        return True

    def _seconds_to_next(self) -> float:
        look_ms = self._schedules.next_look_ms()
        if look_ms is None:
            return LONGEST_SECONDS
        seconds = (look_ms - self._schedules.server_time_ms()) / 1000
        return min(LONGEST_SECONDS, max(SHORTEST_SECONDS, seconds))


def planning_trigger(wait_seconds: Callable[[], float]) -> Any:
    """Return a trigger of APScheduler that fires so many seconds after the round before; it is asked after each."""
    base: Any = import_extra("apscheduler.triggers.base", "scheduler").BaseTrigger

    class PlanningTrigger(base):
        """Fires when a schedule is to be planned."""

        def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
            """The time of the next round."""
            return now + timedelta(seconds=wait_seconds())

    return PlanningTrigger()
