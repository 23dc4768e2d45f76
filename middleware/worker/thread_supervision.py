"""Watches the threads of a worker, and replaces those that died.

In the flow: the heartbeat looks each round, and consumers look after the heartbeat. An exception that gets past
Dramatiq (a time limit that fires in a hook, a connection error while a consumer closes) ends a thread silently, and the
worker would go on with fewer, or never take anything from that queue again (F9). One that hangs cannot be replaced: it
goes round no more, the process's pulse stops (`health_file.py`), and whoever probes it starts the process anew.
"""

import threading
import time
import weakref
from collections.abc import Callable, Iterable

from dramatiq import Worker
from dramatiq.worker import ConsumerThread, WorkerThread

from ...configs.logger import Logger

log = Logger(__name__)


class Progress:
    """When each thread that has to go round did so last. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: weakref.WeakKeyDictionary[threading.Thread, float] = weakref.WeakKeyDictionary()

    def note(self) -> None:
        """The calling thread went round."""
        with self._lock:
            self._seen[threading.current_thread()] = time.monotonic()

    def stuck(self, threads: Iterable[threading.Thread], seconds: float) -> list[str]:
        """The names of those that have not gone round for so long; a new one has all its time from now on."""
        now = time.monotonic()
        with self._lock:
            return [each.name for each in threads if now - self._seen.setdefault(each, now) > seconds]


def revive(worker: Worker, abandon: Callable[[int], None]) -> list[ConsumerThread]:
    """Replace dead threads.

    Args:
        worker: Which runs and is not about to stop.
        abandon: Told the id of a dead worker thread, so that what it worked on holds no permit any more.

    Returns:
        The consumer threads that took another's place.
    """
    dead = [index for index, thread in enumerate(worker.workers) if _has_died(thread)]
    for index in dead:
        # All before any new one is started: it may be given the id of one that died.
        abandon(worker.workers[index].ident or 0)
    for index in dead:
        log.error("worker_thread_died", thread=worker.workers[index].name)
        worker.workers[index] = WorkerThread(
            broker=worker.broker,
            consumers=worker.consumers,
            work_queue=worker.work_queue,
            worker_timeout=worker.worker_timeout,
        )
        worker.workers[index].start()
    return [_replaced(worker, name, each) for name, each in list(worker.consumers.items()) if _has_died(each)]


def _replaced(worker: Worker, queue_name: str, dead: ConsumerThread) -> ConsumerThread:
    log.error("consumer_thread_died", queue=queue_name)
    replacement = ConsumerThread(
        broker=worker.broker,
        queue_name=queue_name,
        prefetch=dead.prefetch,
        work_queue=worker.work_queue,
        worker_timeout=worker.worker_timeout,
    )
    # Bodies in progress are acknowledged through whatever consumer stands here.
    replacement.consumer = dead.consumer
    worker.consumers[queue_name] = replacement
    replacement.start()
    return replacement


def _has_died(thread: ConsumerThread | WorkerThread) -> bool:
    # One that was told to stop is no longer `running`; one that has not started has no ident.
    return thread.running and thread.ident is not None and not thread.is_alive()
