"""``python -m bandmaster.scheduler``: the scheduler process. Run as many as you like: one leads.

In the flow: it only ticks (see `ticking.py`); without it, lanes of workers keep themselves going, and what is lost is
the sweep of stale executions and the revival of a dead watch. It waits for the server at start, ends at SIGTERM or
SIGINT with 0, and with 1 if the settings are wrong or the server does not come.
"""

import signal
import sys
from types import FrameType

import structlog
from apscheduler.schedulers.blocking import BlockingScheduler
from dramatiq.brokers.redis import RedisBroker

from ..configs.errors import SettingsError
from ..configs.logging import configure_logging
from ..configs.settings import load_settings
from .connection import connect
from .errors import QueueUnavailable
from .keys import Keys
from .scripts import Scripts
from .ticking import Ticking

log = structlog.get_logger("bandmaster.scheduler")


def main() -> int:
    """Tick until told to stop; the exit code."""
    try:
        settings = load_settings()
        configure_logging(settings.logging)
        client = connect(settings, name="bandmaster-scheduler")
    except (SettingsError, QueueUnavailable) as error:
        sys.stderr.write(f"bandmaster: scheduler: {error}\n")
        return 1
    broker = RedisBroker(client=client, namespace=settings.redis.dramatiq_namespace, middleware=[])
    ticking = Ticking(Scripts(client, Keys(settings.redis.prefix)), broker, settings.scheduler)
    scheduler = BlockingScheduler(timezone="UTC")
    ticking.add_jobs(scheduler)

    def stop(_number: int, _frame: FrameType | None) -> None:
        scheduler.shutdown(wait=False)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    log.info("scheduler_started", interval_seconds=settings.scheduler.interval_seconds)
    ticking.tick()
    scheduler.start()
    try:
        ticking.resign()
    except QueueUnavailable as error:
        log.warning("resign_failed", error=str(error))
    log.info("scheduler_stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
