"""``python -m bandmaster.scheduler``: the scheduler process. Run as many as you like: one leads.

In the flow: it only ticks (see `ticking.py`); while none runs, the workers send its ticks themselves. It waits for the
server at start, ends at SIGTERM or SIGINT with 0, and with 1 if the settings are wrong, the server does not come or
the extra `scheduler` is missing. If it is killed, another leads when its TTL is over.
"""

import signal
import sys
from typing import TYPE_CHECKING, Any

from dramatiq.brokers.redis import RedisBroker

from ..configs.errors import ExtraMissing, SettingsError
from ..configs.extras import import_extra
from ..configs.logger import Logger
from ..configs.logging import configure_logging
from ..configs.settings import load_settings
from .keys import Keys
from .model.errors import QueueUnavailable
from .process.health_file import HealthFile
from .process.ticking import Ticking
from .server.connection import connect
from .transport.scripts import Scripts

if TYPE_CHECKING:
    from apscheduler.schedulers.background import BackgroundScheduler

log = Logger("bandmaster.scheduler")
ENDS = {signal.SIGTERM, signal.SIGINT}


def main() -> int:
    """Tick until told to stop; the exit code."""
    try:
        background: Any = import_extra("apscheduler.schedulers.background", "scheduler")
        settings = load_settings()
        configure_logging(settings.logging)
        client = connect(settings, name="bandmaster-scheduler")
        pulse = HealthFile(settings.paths.pulse_dir)
    except (ExtraMissing, SettingsError, QueueUnavailable, OSError) as error:
        sys.stderr.write(f"bandmaster: scheduler: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 0
    broker = RedisBroker(client=client, namespace=settings.redis.dramatiq_namespace, middleware=[])
    scripts = Scripts(client, Keys(settings.redis.prefix), deadline_seconds=settings.redis.deadline_seconds)
    ticking = Ticking(scripts, broker, settings.scheduler, pulse)
    scheduler: BackgroundScheduler = background.BackgroundScheduler(timezone="UTC")
    ticking.add_jobs(scheduler)
    # Blocked before any thread begins, and waited for here: a handler could meet a lock that this thread holds.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    scheduler.start()
    log.info("scheduler_started", interval_seconds=settings.scheduler.interval_seconds)
    signal.sigwait(ENDS)
    # A second one ends it at once, should Redis hang now.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    scheduler.shutdown(wait=False)
    try:
        ticking.resign()
    except QueueUnavailable as error:
        log.warning("resign_failed", error=str(error))
    log.info("scheduler_stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
