"""``ShardWorkers``: a worker of its own, with threads of its own, for each further shard of a process.

In the flow: Dramatiq starts one worker, that of shard `default`. This middleware of that broker starts one for each
other shard that the process takes from, with as many threads, and ends it before the application's middleware is told
of the end. So whatever a server does, its outage or its backlog holds only its own threads. Each starts in a thread of
its own: a server that hangs at the start holds up no other. If the process dies, the leases of all shards run out.
"""

import threading
from collections.abc import Callable
from typing import Final

from dramatiq import Broker, Worker
from dramatiq.middleware import Middleware

from ...configs.logger import Logger
from ...configs.shards import DEFAULT
from .routing import Shards
from .sharded_broker import ShardedBroker

log = Logger(__name__)
NOWHERE: Final = ""
"""The name of no queue: a worker that takes only from it takes nothing."""


class ShardWorkers(Middleware):
    """The workers of all shards but `default`. One worker at a time, as in Dramatiq."""

    def __init__(self, shards: Shards[ShardedBroker]) -> None:
        self._shards = shards
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._workers: dict[str, Worker] = {}
        self._threads: list[threading.Thread] = []

    @property
    def workers(self) -> dict[str, Worker]:
        """The workers that run, by shard."""
        return dict(self._workers)

    def after_process_boot(self, broker: Broker) -> None:
        """Let each shard's own middleware know, as that which writes settings."""
        for name, shard in self._shards.others.items():
            self._begin(f"boot-{name}", lambda shard=shard: shard.emit_after("process_boot"))

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Start the workers."""
        self._stopping = threading.Event()
        queues: set[str] | None = worker.consumer_whitelist or None
        for name, shard in self._shards.others.items():
            if name in self._shards.consumed:
                self._begin(name, lambda name=name, shard=shard: self._start(name, shard, worker, queues))
        if DEFAULT not in self._shards.consumed:
            worker.consumer_whitelist = {NOWHERE}

    def before_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Tell the workers to stop, all at once."""
        self._stopping.set()
        with self._lock:
            running, self._workers = self._workers, {}
        for name, each in running.items():
            self._begin(f"end-{name}", each.stop)

    def after_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Wait until all have stopped."""
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=f"bandmaster-shard-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _start(self, name: str, shard: ShardedBroker, home: Worker, queues: set[str] | None) -> None:
        worker = Worker(shard, queues=queues, worker_timeout=home.worker_timeout, worker_threads=home.worker_threads)
        worker.start()
        log.info("shard_consumed", shard=name, threads=home.worker_threads)
        with self._lock:
            if not self._stopping.is_set():
                self._workers[name] = worker
                return
        worker.stop()
