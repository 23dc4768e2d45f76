"""What the actors of one process share: settings, broker, queue, pods. Made at import, connected at first use.

In the flow: `dramatiq bandmaster.actors` imports this in every worker process, a caller in its own, to send. Nothing is
sent to a server at import, so importing never fails for want of one. A worker waits for the server when it boots, and
ends with an error if it does not come; what it fetched and did not finish when it dies comes back within a lease.
"""

import os
import sys
from functools import cache
from typing import Final

import dramatiq
from dramatiq import Broker, Worker
from dramatiq.broker import global_broker
from dramatiq.middleware import Middleware

from ..configs.logger import Logger
from ..configs.logging import configure_logging
from ..configs.settings import load_settings, sections
from ..configs.unread import warn_of_unknown
from ..k8s.backend import connect as connect_pods
from ..k8s.errors import BackendNotAvailable
from ..k8s.pods import Pods
from ..middleware import BandedRedisBroker
from ..middleware.worker.health_file import WorkerPulse
from ..scheduler.model.errors import QueueUnavailable
from ..scheduler.server.connection import client_of, connect, redis_url
from .maintenance_rounds import Rounds

log = Logger(__name__)
LIFECYCLE_QUEUE: Final = "lifecycle"
"""The plain queue of the lifecycle actors, so that they never wait behind work."""
MAINTENANCE_CHANCE: Final = 100_000
"""Of a million commands on a plain queue, so many also look for what dead workers had fetched: about each 10 s."""

PING_SECONDS: Final = 2.0
"""How long an answer may take for a worker to be called ready."""

settings = load_settings()

broker = BandedRedisBroker.from_settings(
    # Dramatiq's own lease on the messages of plain queues, here on those that end and cancel executions.
    heartbeat_timeout=settings.leases.lease_ttl_ms,
    maintenance_chance=MAINTENANCE_CHANCE,
)
queue = broker.queue


@cache
def pods() -> Pods:
    """The pods of the configured backend; made at first use, since who only sends needs none.

    Raises:
        BackendNotAvailable: If the settings ask for one that this version has not got.
    """
    return connect_pods(settings.k8s.backend, root=settings.paths.absolute, local=settings.local, cluster=settings.k8s)


class WorkerStart(Middleware):
    """A worker process waits for the server, before its broker gives it the configured values to start from."""

    def after_process_boot(self, broker: Broker) -> None:
        """Wait, bounded, saying so.

        Raises:
            SystemExit: If there is no server, or no such backend: a hook's other exceptions would be swallowed, and
                the worker would run without what was configured.
        """
        configure_logging(settings.logging)
        warn_of_unknown(sections())
        try:
            connect(settings, name="bandmaster-worker").close()
            pods()
            if settings.k8s.backend == "local" and os.geteuid() == 0 and not settings.local.run_as:
                log.warning("programs_run_as_root", advice="name another user in local.run_as: docs/local.md")
        except (QueueUnavailable, BackendNotAvailable) as error:
            log.error("worker_not_started", error=str(error))
            sys.exit(1)

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Watch the pods, without waiting for the first tick; where a watch runs already, this one ends at once."""
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
    # An application that has a broker of its own keeps it, and still may send to these actors.
    dramatiq.set_broker(broker)
