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
from ..configs.settings import Settings, load_settings
from .engine.engine import Engine
from .keys import Keys
from .model.errors import QueueUnavailable
from .process.health_file import HealthFile
from .process.promoting import Promoting
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
        led = [(scripts, ticking)]
        for own in others:
            its_scripts = _scripts_of(own)
            led.append((its_scripts, _ticking_of(own, its_scripts, HealthFile(None))))
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        with _metrics(settings.metrics, scripts, ticking), _promoting(led):
            schedulers = [background.BackgroundScheduler(timezone="UTC") for _ in led]
            _tick(schedulers, [each for _, each in led], settings.scheduler.interval_seconds)
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
def _promoting(led: list[tuple[Scripts, Ticking]]) -> Generator[None]:
    """Promote what is due as long as this process leads, in a thread of each server's own beside the ticks."""
    stopped = threading.Event()
    for scripts, ticking in led:
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
