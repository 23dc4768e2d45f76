"""The objects that all actors of a process share (settings, broker, queue, pods), made at import, connected later.

In the flow: `dramatiq bandmaster.actors` imports this module in every worker process; callers import it to send. An
import calls no server, so it never fails for want of one. A worker waits for the server when it boots, and exits with
an error if the server does not come up. If a worker dies, its unfinished messages come back within a lease.
"""

import os
import sys
from functools import cache
from typing import Final

import dramatiq
import redis
from dramatiq import Broker, Worker
from dramatiq.broker import global_broker
from dramatiq.middleware import Middleware

from ..configs.logger import Logger
from ..configs.logging import configure_logging
from ..configs.settings import load_settings, sections
from ..configs.unread import warn_of_unknown
from ..k8s.backend import connect as connect_pods
from ..k8s.pods import Pods
from ..middleware import BandedRedisBroker
from ..middleware.worker.health_file import WorkerPulse
from ..scheduler.model.errors import BandmasterError
from ..scheduler.server.connection import client_of, connect, redis_url
from .maintenance_rounds import Rounds
from .pods_place import PodsPlace

log = Logger(__name__)
LIFECYCLE_QUEUE: Final = "lifecycle"
"""The plain queue of the lifecycle actors, so that they never wait behind work."""
MAINTENANCE_CHANCE: Final = 100_000
"""How many of a million commands on a plain queue also requeue the messages of dead workers: about one in 10 s."""

PING_SECONDS: Final = 2.0
"""A worker counts as ready if the server answers a ping within this time."""

settings = load_settings()

broker = BandedRedisBroker.from_settings(
    # Dramatiq's own lease on the messages of plain queues: here, of those that end or cancel executions.
    heartbeat_timeout=settings.leases.lease_ttl_ms,
    maintenance_chance=MAINTENANCE_CHANCE,
)
queue = broker.queue


@cache
def pods() -> Pods:
    """Return the configured backend of pods. It is made at first use, since a process that only sends needs none.

    Raises:
        BackendNotAvailable: If the settings ask for a backend that this version does not have.
    """
    return connect_pods(settings.k8s.backend, root=settings.paths.absolute, local=settings.local, cluster=settings.k8s)


@cache
def place() -> PodsPlace:
    """Return this process's claim on the place of the queue's pods.

    Raises:
        BackendNotAvailable: As `pods` does.
        PodsUnavailable: If the folder of local pods cannot be made.
    """
    return PodsPlace(queue.scripts, pods())


class WorkerStart(Middleware):
    """Lets a worker process wait for the server at its start."""

    def after_process_boot(self, broker: Broker) -> None:
        """Wait for the server, for a bounded time, and log that.

        Raises:
            SystemExit: If there is no server, no such backend, or other workers have their pods elsewhere. Dramatiq
                would swallow any other exception of this hook, and the worker would run without its configuration.
        """
        configure_logging(settings.logging)
        warn_of_unknown(sections())
        try:
            connect(settings, name="bandmaster-worker").close()
            place().take()
            if settings.k8s.backend == "local" and os.geteuid() == 0 and not settings.local.run_as:
                log.warning("programs_run_as_root", advice="name another user in local.run_as: docs/local.md")
        except (BandmasterError, redis.RedisError) as error:
            log.error("worker_not_started", error=str(error))
            sys.exit(1)

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Start a watch without waiting for the first tick; if a watch runs already, the new one ends at once."""
        broker.get_actor("watch_completions").send()


broker.add_middleware(WorkerStart())
broker.add_middleware(
    WorkerPulse(
        broker.process,
        client_of(redis_url(settings), socket_timeout_seconds=PING_SECONDS, name="bandmaster-pulse"),
        settings.paths.pulse_dir,
    )
)
broker.add_middleware(Rounds(queue, interval_seconds=settings.scheduler.interval_seconds))
if global_broker is None:
    # An application that has set its own broker keeps it, and can still send to these actors.
    dramatiq.set_broker(broker)
