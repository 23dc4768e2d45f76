"""``python -m bandmaster.scheduler``: the scheduler process, of which any number may run while one leads.

In the flow: the process ticks (`ticking.py`) and, while it leads, promotes what is due (`promoting.py`). While no
scheduler runs, the workers send the ticks themselves. At start it waits for the server. It exits with 0 at SIGTERM or
SIGINT, and with 1 if the settings are wrong, the server does not answer, an extra is missing or the port for metrics is
taken. If the leader is killed, another leads once its TTL is over.
"""

import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dramatiq.brokers.redis import RedisBroker

from ..configs.errors import ExtraMissing, SettingsError
from ..configs.extras import import_extra
from ..configs.logger import Logger
from ..configs.logging import configure_logging
from ..configs.metrics import MetricsSettings
from ..configs.settings import load_settings
from .engine.engine import Engine
from .keys import Keys
from .model.errors import QueueUnavailable
from .process.health_file import HealthFile
from .process.promoting import Promoting
from .process.ticking import Ticking
from .server.connection import connect
from .transport.scripts import Scripts

if TYPE_CHECKING:
    from apscheduler.schedulers.background import BackgroundScheduler

log = Logger("bandmaster.scheduler")
ENDS = {signal.SIGTERM, signal.SIGINT}


def main() -> int:
    """Tick until a signal ends the process; return the exit code."""
    # The signals are blocked before any thread starts and awaited below: a handler could need a lock this thread holds.
    try:
        background: Any = import_extra("apscheduler.schedulers.background", "scheduler")
        settings = load_settings()
        configure_logging(settings.logging)
        client = connect(settings, name="bandmaster-scheduler")
        pulse = HealthFile(settings.paths.pulse_dir)
        broker = RedisBroker(client=client, namespace=settings.redis.dramatiq_namespace, middleware=[])
        scripts = Scripts(client, Keys(settings.redis.prefix), deadline_seconds=settings.redis.deadline_seconds)
        ticking = Ticking(scripts, broker, settings.scheduler, pulse)
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        with _metrics(settings.metrics, scripts, ticking), _promoting(scripts, ticking):
            _tick(background.BackgroundScheduler(timezone="UTC"), ticking, settings.scheduler.interval_seconds)
    except (ExtraMissing, SettingsError, QueueUnavailable, OSError) as error:
        sys.stderr.write(f"bandmaster: scheduler: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 0
    log.info("scheduler_stopped")
    return 0


def _tick(scheduler: "BackgroundScheduler", ticking: Ticking, interval_seconds: float) -> None:
    ticking.add_jobs(scheduler)
    scheduler.start()
    log.info("scheduler_started", interval_seconds=interval_seconds)
    signal.sigwait(ENDS)
    # A second signal ends the process at once, in case Redis hangs now.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    scheduler.shutdown(wait=False)
    try:
        ticking.resign()
    except QueueUnavailable as error:
        log.warning("resign_failed", error=str(error))


@contextmanager
def _promoting(scripts: Scripts, ticking: Ticking) -> Generator[None]:
    """Promote what is due as long as this process leads, in a thread beside the ticks."""
    stopped = threading.Event()
    promoting = Promoting(scripts, ticking.repairs)
    threading.Thread(target=promoting.run, args=(stopped,), name="bandmaster-promoting", daemon=True).start()
    try:
        yield
    finally:
        stopped.set()  # it may wait for the server still, and ends with the process


@contextmanager
def _metrics(settings: MetricsSettings, scripts: Scripts, ticking: Ticking) -> Generator[None]:
    """Serve what Redis tells, if a port is named."""
    if settings.scheduler_port is None:
        yield
        return
    serving: Any = import_extra("bandmaster.scheduler.metrics.port", "metrics")
    collecting: Any = import_extra("bandmaster.scheduler.metrics.queue_collector", "metrics")
    collector = collecting.QueueCollector(Engine(scripts), gates=settings.gates, leads=lambda: ticking.leads)
    with serving.served(collector, settings.host, settings.scheduler_port, setting="metrics.scheduler_port"):
        yield


if __name__ == "__main__":
    sys.exit(main())
