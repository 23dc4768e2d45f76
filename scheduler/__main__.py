"""``python -m bandmaster.scheduler``: the scheduler process, of which any number may run while one leads.

In the flow: the process only ticks (see `ticking.py`). While no scheduler runs, the workers send the ticks themselves.
At start it waits for the server. It exits with 0 at SIGTERM or SIGINT, and with 1 if the settings are wrong, the server
does not answer, an extra is missing or the port for metrics is taken. If the leader is killed, another leads once its
TTL is over.
"""

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dramatiq.brokers.redis import RedisBroker

from ..configs.errors import ExtraMissing, SettingsError
from ..configs.extras import import_extra
from ..configs.logger import Logger
from ..configs.logging import configure_logging
from ..configs.metrics import MetricsSettings
from ..configs.settings import Settings, load_settings
from .engine.engine import Engine
from .keys import Keys
from .model.errors import QueueUnavailable
from .process.health_file import HealthFile
from .process.ticking import Ticking
from .server.connection import client_of, connect, redis_url
from .shards.asking import ask_all
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
        if not settings.shards.servers:
            connect(settings, name="bandmaster-scheduler").close()
        scripts = _scripts_of(settings)
        ticking = _ticking_of(settings, scripts, HealthFile(settings.paths.pulse_dir))
        # Each shard is led for itself, by threads of its own: one that hangs holds up no other, nor this start.
        others = [settings.of_shard(name) for name in settings.shards.servers]
        tickings = [ticking, *(_ticking_of(own, _scripts_of(own), HealthFile(None)) for own in others)]
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        with _metrics(settings.metrics, scripts, ticking):
            schedulers = [background.BackgroundScheduler(timezone="UTC") for _ in tickings]
            _tick(schedulers, tickings, settings.scheduler.interval_seconds)
    except (ExtraMissing, SettingsError, QueueUnavailable, OSError) as error:
        sys.stderr.write(f"bandmaster: scheduler: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 0
    log.info("scheduler_stopped")
    return 0


def _scripts_of(settings: Settings) -> Scripts:
    """Return the scripts of the server that the settings name; nothing is connected."""
    client = client_of(
        redis_url(settings), socket_timeout_seconds=settings.redis.command_timeout_seconds, name="bandmaster-scheduler"
    )
    return Scripts(client, Keys(settings.redis.prefix), deadline_seconds=settings.redis.deadline_seconds)


def _ticking_of(settings: Settings, scripts: Scripts, pulse: HealthFile) -> Ticking:
    """Return what ticks on that server."""
    client = client_of(
        redis_url(settings), socket_timeout_seconds=settings.redis.command_timeout_seconds, name="bandmaster-scheduler"
    )
    broker = RedisBroker(client=client, namespace=settings.redis.dramatiq_namespace, middleware=[])
    return Ticking(scripts, broker, settings.scheduler, pulse)


def _tick(schedulers: "list[BackgroundScheduler]", tickings: list[Ticking], interval_seconds: float) -> None:
    for scheduler, ticking in zip(schedulers, tickings, strict=True):
        ticking.add_jobs(scheduler)
        scheduler.start()
    log.info("scheduler_started", interval_seconds=interval_seconds, servers=len(tickings))
    signal.sigwait(ENDS)
    # A second signal ends the process at once, in case Redis hangs now.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    for scheduler in schedulers:
        scheduler.shutdown(wait=False)
    ask_all({str(index): each for index, each in enumerate(tickings)}, _resign)


def _resign(ticking: Ticking) -> None:
    try:
        ticking.resign()
    except QueueUnavailable as error:
        log.warning("resign_failed", error=str(error))


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
