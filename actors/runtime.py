"""What the actors of one process share: settings, broker, queue, pods. Made at import, connected at first use.

In the flow: `dramatiq bandmaster.actors` imports this in every worker process, a caller in its own, to send. Nothing is
sent to a server at import, so importing never fails for want of one; a worker waits for it when it boots.
"""

import dramatiq
import structlog
from dramatiq import Broker, Worker
from dramatiq.broker import global_broker
from dramatiq.middleware import Middleware

from ..configs.logging import configure_logging
from ..configs.settings import load_settings
from ..k8s.backend import connect as connect_pods
from ..middleware import BandedRedisBroker
from ..scheduler.connection import client_of, connect, redis_url

log = structlog.get_logger(__name__)
LIFECYCLE_QUEUE = "lifecycle"
"""The plain queue of the lifecycle actors, so that they never wait behind work."""

settings = load_settings()


class WorkerStart(Middleware):
    """A worker process waits for the server, and gives it the configured limits to start from."""

    def after_process_boot(self, broker: Broker) -> None:
        """Wait, bounded, saying so; then seed the runtime settings that nobody has set yet."""
        configure_logging(settings.logging)
        connect(settings, name="bandmaster-worker").close()
        seed_settings()

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Watch the pods, without waiting for the scheduler's first tick; a watch that runs already makes it end."""
        broker.get_actor("watch_completions").send()


broker = BandedRedisBroker(
    client=client_of(
        redis_url(settings), socket_timeout_seconds=settings.redis.socket_timeout_seconds, name="bandmaster-actors"
    ),
    namespace=settings.redis.dramatiq_namespace,
    prefix=settings.redis.prefix,
    lease_ttl_ms=settings.leases.lease_ttl_ms,
)
broker.add_middleware(WorkerStart())
if global_broker is None:
    # An application that has a broker of its own keeps it, and still may send to these actors.
    dramatiq.set_broker(broker)

queue = broker.queue
pods = connect_pods(settings.k8s.backend, root=settings.paths.absolute)


def seed_settings() -> None:
    """Give Redis the values that were configured; what an operator has changed since stays (D14)."""
    for area in (settings.limits, settings.leases, settings.retention):
        for name in area.model_fields_set & queue.views.status().settings.keys():
            queue.controls.change_setting(name, getattr(area, name), only_if_unset=True)
