"""The objects that all actors of a process share (settings, broker, queue, pods), made at import, connected later.

In the flow: `dramatiq bandmaster.actors` imports this module in every worker process; callers import it to send. An
import calls no server, so it never fails for want of one. A worker waits for the server when it boots, and exits with
an error if the server does not come up. If a worker dies, its unfinished messages come back within a lease.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
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
from ..middleware.shards.routing import Shards, here
from ..middleware.shards.sharded_broker import ShardedBroker
from ..middleware.worker.health_file import WorkerPulse
from ..middleware.worker.lane_broker import LaneBroker
from ..scheduler.model.errors import BandmasterError, UnknownExecution
from ..scheduler.queue import ExecutionQueueService
from ..scheduler.server.connection import client_of, connect, redis_url
from .maintenance_rounds import Rounds
from .pods_place import PodsPlace, take_places

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


if broker.shards is not None:
    # Each server has a scheduler's ticks, a watch and reports of its own.
    broker.shards.keep_here(LIFECYCLE_QUEUE)


def this_broker() -> LaneBroker:
    """Return the broker of the shard whose message the calling actor works on."""
    return here() or broker


def this_queue() -> ExecutionQueueService:
    """Return the queue of that shard."""
    return this_broker().queue


@contextmanager
def on_shard_of(execution_id: str) -> Generator[None]:
    """A context on the shard that knows an execution; where none does, on the one whose message this is.

    Raises:
        QueueUnavailable: If one that may know it did not answer.
    """
    shards = broker.shards
    if shards is None or this_queue().views.meta(execution_id):
        yield
        return
    try:
        found = shards.brokers[shards.find(execution_id)]
    except UnknownExecution:
        yield
        return
    with shards.at(found):
        yield


def pods() -> Pods:
    """Return the configured backend of pods, as of this shard. It is made at first use: who only sends needs none.

    Raises:
        BackendNotAvailable: If the settings ask for a backend that this version does not have.
    """
    return pods_of(this_broker().shard)


@cache
def pods_of(shard: str) -> Pods:
    """Return the backend of one shard's pods, which knows those of no other shard."""
    own = settings.of_shard(shard)
    return connect_pods(own.k8s.backend, root=own.paths.absolute, local=own.local, cluster=own.k8s)


def place() -> PodsPlace:
    """Return this process's claim on the place of the pods of this shard.

    Raises:
        BackendNotAvailable: As `pods` does.
        PodsUnavailable: If the folder of local pods cannot be made.
    """
    return place_of(this_broker().shard)


@cache
def place_of(shard: str) -> PodsPlace:
    """Return this process's claim on the place of one shard's pods."""
    own = broker if broker.shards is None else broker.shards.brokers[shard]
    return PodsPlace(own.queue.scripts, pods_of(shard))


class WorkerStart(Middleware):
    """Lets a worker process wait for the server at its start."""

    def __init__(self, shards: "Shards[ShardedBroker] | None") -> None:
        self._shards = shards

    def after_process_boot(self, broker: Broker) -> None:
        """Wait for the server, for a bounded time, and log that. Of several servers none is waited for.

        Raises:
            SystemExit: If there is no server, no such backend, or other workers have their pods elsewhere. Dramatiq
                would swallow any other exception of this hook, and the worker would run without its configuration.
        """
        configure_logging(settings.logging)
        warn_of_unknown(sections())
        try:
            if self._shards is None:
                connect(settings, name="bandmaster-worker").close()
                place().take()
            else:
                take_places(self._shards, place_of)
            if settings.k8s.backend == "local" and os.geteuid() == 0 and not settings.local.run_as:
                log.warning("programs_run_as_root", advice="name another user in local.run_as: docs/local.md")
        except (BandmasterError, redis.RedisError) as error:
            log.error("worker_not_started", error=str(error))
            sys.exit(1)


class WatchStart(Middleware):
    """Starts a watch without waiting for the first tick; if a watch runs already, the new one ends at once."""

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Send the message."""
        broker.enqueue(broker.get_actor("watch_completions").message())


broker.add_middleware(WatchStart())
broker.add_middleware(WorkerStart(broker.shards))
broker.add_middleware(
    WorkerPulse(
        broker.process,
        client_of(redis_url(settings), socket_timeout_seconds=PING_SECONDS, name="bandmaster-pulse"),
        settings.paths.pulse_dir,
    )
)
broker.add_middleware(Rounds(queue, interval_seconds=settings.scheduler.interval_seconds))
for shard in () if broker.shards is None else broker.shards.others.values():
    shard.add_own(Rounds(shard.queue, interval_seconds=settings.scheduler.interval_seconds))
    shard.add_own(WatchStart())
if global_broker is None:
    # An application that has set its own broker keeps it, and can still send to these actors.
    dramatiq.set_broker(broker)
