"""The scheduler process's jobs: to lead, and, while it leads, to send the message `try_schedule` at each tick and to
plan schedules (`planning_rounds.py`).

In the flow: APScheduler runs the jobs; the workers do the repairs. A tick only sends a message, and first removes the
previous one if no worker has fetched it, so messages do not pile up; a worker skips a message that is too old. If the
leader dies, its key expires and another scheduler is elected. If a tick or the planning hangs for longer than the TTL,
the process stops renewing its lead (F6) and its health file. If all ticks or plans fail for that long, it lets the
others lead for a while.
A message of a leader that slept carries its old epoch, and is refused (F5).
"""

import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import redis
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker

from ...configs.areas import SchedulerSettings
from ...configs.logger import Logger
from ..engine.maintenance import Maintenance
from ..model.errors import QueueUnavailable
from ..transport.scripts import Scripts
from .health_file import HealthFile
from .leadership import Leadership
from .planning_rounds import PlanningRounds
from .progress import Progress

if TYPE_CHECKING:
    from apscheduler.schedulers.base import BaseScheduler

log = Logger(__name__)
JOB_ID: Final = "saga_try_schedule"
ACTOR: Final = "try_schedule"
QUEUE: Final = "lifecycle"
MAX_AGE_SHARE: Final = 0.9
RENEWALS_A_TTL: Final = 3
STANDS_BACK_TTLS: Final = 2
"""How long a process whose ticks fail does not renew: one TTL for its lead to expire, one for others to take it."""
TELLS_AGAIN_SECONDS: Final = 600.0
"""How often at most it is logged that no worker takes the ticks."""


class Ticking:
    """Runs for leader, and sends the ticks while it leads."""

    def __init__(
        self, scripts: Scripts, broker: RedisBroker, settings: SchedulerSettings, pulse: HealthFile | None = None
    ) -> None:
        self._leadership = Leadership(scripts, ttl_ms=settings.leader_ttl_ms)
        self._maintenance = Maintenance(scripts)
        self._broker = broker
        self._client: Any = scripts.client
        self._settings = settings
        self._pulse = pulse or HealthFile(None)
        self._lock = threading.Lock()
        self._planning = PlanningRounds(scripts, self._leadership)
        self._ticks = Progress("ticks_fail", "tick_hangs")
        self._stands_back_until = 0.0
        self._last_tick: str | None = None
        self._told_again_at = 0.0
        self._resigned = False

    @property
    def leads(self) -> bool:
        """Whether this process leads. Any thread may ask."""
        return self._leadership.leads

    def repairs(self) -> Maintenance | None:
        """Return the repairs under the epoch of this process; None while it does not lead. Any thread may ask."""
        epoch = self._leadership.epoch
        if epoch is None or not self.leads:
            return None
        return self._maintenance.under(self._leadership.leader_id, epoch)

    def add_jobs(self, scheduler: "BaseScheduler") -> None:
        """Add the jobs to an APScheduler; the first tick is due at once."""
        self._planning.add_job(scheduler)
        scheduler.add_job(  # pyright: ignore[reportUnknownMemberType]
            self.tick,
            trigger="interval",
            seconds=self._settings.interval_seconds,
            id=JOB_ID,
            max_instances=1,
            misfire_grace_time=self._settings.misfire_grace_seconds,
            next_run_time=datetime.now(UTC),
        )
        scheduler.add_job(  # pyright: ignore[reportUnknownMemberType]
            self.lead,
            trigger="interval",
            seconds=self._settings.leader_ttl_ms / 1000 / RENEWALS_A_TTL,
            id="lead",
            max_instances=1,
            misfire_grace_time=None,  # run it however late it is
        )

    def lead(self) -> bool:
        """Become or stay the leader, unless a tick hangs or all of them fail.

        Returns:
            Whether this process leads.
        """
        if not self._makes_progress():
            return False
        with self._lock:
            if self._resigned:
                return False
            led = self._leadership.leads
            try:
                leads = self._leadership.elect()
            except QueueUnavailable as error:
                log.warning("election_failed", error=str(error))
                self._pulse.beat(answered=False)
                return False
            self._pulse.beat(answered=True)
        if leads and not led:
            log.info("leader_elected", leader_id=self._leadership.leader_id, epoch=self._leadership.epoch)
        return leads

    def _makes_progress(self) -> bool:
        now, ttl_seconds = time.monotonic(), self._settings.leader_ttl_ms / 1000
        for job in (self._ticks, self._planning.progress):
            if (failing := job.fails_for()) > ttl_seconds:
                log.error(job.fails, since_seconds=round(failing, 1))
                job.forgive()
                self._stands_back_until = now + STANDS_BACK_TTLS * ttl_seconds
            if (hangs := job.hangs_for()) > ttl_seconds:
                log.error(job.hangs, since_seconds=round(hangs, 1))
                return False
        return now >= self._stands_back_until

    def tick(self) -> bool:
        """Send `try_schedule`, if this process leads.

        Returns:
            Whether the message was sent.
        """
        if not self._leadership.leads and not self.lead():
            return False
        try:
            with self._ticks.making():
                self._take_back()
                self._last_tick = self._broker.enqueue(self._message()).options["redis_message_id"]
        except redis.RedisError as error:
            log.warning("tick_failed", error=str(error))
            return False
        return True

    def _take_back(self) -> None:
        """Remove the last message if it still waits, since one is enough. The keys are those of Dramatiq's own Lua."""
        if self._last_tick is None:
            return
        queue = f"{self._broker.namespace}:{QUEUE}"
        pipeline = self._client.pipeline()
        pipeline.lrem(queue, 1, self._last_tick)
        pipeline.hdel(f"{queue}.msgs", self._last_tick)
        if pipeline.execute()[0] and time.monotonic() >= self._told_again_at:
            self._told_again_at = time.monotonic() + TELLS_AGAIN_SECONDS
            log.warning(
                "tick_not_fetched",
                reason="no worker has taken the last try_schedule",
                advice="import bandmaster.actors in a worker; till then, each call of a worker repairs a little",
            )
        self._last_tick = None

    def _message(self) -> "Message[None]":
        return Message(
            queue_name=QUEUE,
            actor_name=ACTOR,
            args=(),
            kwargs={
                "leader_id": self._leadership.leader_id,
                "epoch": self._leadership.epoch,
                "not_after_ms": self._server_time_ms() + int(self._settings.interval_seconds * 1000 * MAX_AGE_SHARE),
            },
            options={},
        )

    def _server_time_ms(self) -> int:
        seconds, microseconds = self._client.time()
        return seconds * 1000 + microseconds // 1000

    def resign(self) -> None:
        """Give up the lead at once, and never lead again.

        Raises:
            QueueUnavailable: If Redis did not answer; another process is elected when the TTL is over.
        """
        with self._lock:
            self._resigned = True
            self._leadership.resign()
