"""``PlanningRounds``: the leader's planning of schedules, a job of APScheduler that says itself when it runs next.

In the flow: while this process leads, the job runs whenever a schedule is to be planned, and once a second at least:
somebody may have added one. Each round says at its end when the next one is. Occurrences are parked long before they
are due, so a second more or less delays none. `cronsim` says when a line of cron is due (`model/cron.py`), and not
APScheduler, whose own trigger takes 0 for Monday and fires twice, or at no time, when clocks change. If the leader dies
or hangs here, the next one plans what is left; calls of the old one carry its epoch and are refused.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

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
ROUND_MAX_SECONDS: Final = 600.0
"""The next round, until the one that is under way has said when it is: APScheduler asks when a round begins."""


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
        gone: type[Exception] = import_extra("apscheduler.jobstores.base", "scheduler").JobLookupError

        def run() -> None:
            try:
                self.round()
            finally:
                later = datetime.now(UTC) + timedelta(seconds=self._wait_seconds)
                with suppress(gone):  # it was shut down meanwhile
                    scheduler.modify_job(JOB_ID, next_run_time=later)  # pyright: ignore[reportUnknownMemberType]

        scheduler.add_job(  # pyright: ignore[reportUnknownMemberType]
            run,
            trigger="interval",
            seconds=ROUND_MAX_SECONDS,
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
