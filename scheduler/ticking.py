"""The scheduler process's two jobs: to lead, and, while leading, to send `try_schedule` by name.

In the flow: APScheduler runs both; the workers do the work. The tick only sends, and the message is dropped if it is
older than a tick, so ticks don't pile up. If the leader dies, its key runs out within its TTL and another scheduler is
elected; if a tick hangs, leadership is no longer renewed (F6), since who makes no progress must not lead.
"""

import threading
import time
from typing import Final

import structlog
from apscheduler.schedulers.base import BaseScheduler
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker

from ..configs.areas import SchedulerSettings
from .errors import QueueUnavailable
from .leadership import Leadership
from .scripts import Scripts

log = structlog.get_logger(__name__)
JOB_ID: Final = "saga_try_schedule"
ACTOR: Final = "try_schedule"
QUEUE: Final = "lifecycle"
MAX_AGE_SHARE: Final = 0.9


class Ticking:
    """Leads, and ticks while it leads."""

    def __init__(self, scripts: Scripts, broker: RedisBroker, settings: SchedulerSettings) -> None:
        self._leadership = Leadership(scripts, ttl_ms=settings.leader_ttl_ms)
        self._broker = broker
        self._settings = settings
        self._lock = threading.Lock()
        self._tick_began: float | None = None

    def add_jobs(self, scheduler: BaseScheduler) -> None:
        """Put both jobs on an APScheduler."""
        scheduler.add_job(  # pyright: ignore[reportUnknownMemberType]
            self.tick,
            trigger="interval",
            seconds=self._settings.interval_seconds,
            id=JOB_ID,
            max_instances=1,
            misfire_grace_time=self._settings.misfire_grace_seconds,
        )
        scheduler.add_job(  # pyright: ignore[reportUnknownMemberType]
            self.lead, trigger="interval", seconds=self._settings.leader_ttl_ms / 3000, id="lead", max_instances=1
        )

    def lead(self) -> bool:
        """Become or stay the leader, unless a tick hangs.

        Returns:
            Whether this process leads.
        """
        began = self._tick_began
        if began is not None and time.monotonic() - began > self._settings.leader_ttl_ms / 1000:
            log.error("tick_hangs", since_seconds=round(time.monotonic() - began, 1))
            return False
        with self._lock:
            led = self._leadership.leads
            try:
                leads = self._leadership.elect()
            except QueueUnavailable as error:
                log.warning("election_failed", error=str(error))
                return False
        if leads and not led:
            log.info("leader_elected", leader_id=self._leadership.leader_id, epoch=self._leadership.epoch)
        return leads

    def tick(self) -> bool:
        """Send `try_schedule`, if this process leads.

        Returns:
            Whether it was sent.
        """
        if not self._leadership.leads and not self.lead():
            return False
        self._tick_began = time.monotonic()
        try:
            self._broker.enqueue(self._message())
        finally:
            self._tick_began = None
        return True

    def _message(self) -> "Message[None]":
        return Message(
            queue_name=QUEUE,
            actor_name=ACTOR,
            args=(),
            kwargs={"leader_id": self._leadership.leader_id, "epoch": self._leadership.epoch},
            options={"max_age": int(self._settings.interval_seconds * 1000 * MAX_AGE_SHARE)},
        )

    def resign(self) -> None:
        """Let another lead at once."""
        with self._lock:
            self._leadership.resign()
