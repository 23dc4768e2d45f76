"""Watches the threads of a worker, and replaces those that died.

In the flow: the heartbeat checks the threads in each round, and consumers restart the heartbeat. An exception that gets
past Dramatiq (a time limit that fires in a hook, a connection error while a consumer closes) ends a thread silently;
the worker would go on with fewer threads, or never fetch from that queue again (F9). A thread that hangs cannot be
replaced: the process's pulse stops (`health_file.py`), and the liveness probe has the process restarted.
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
    """When each supervised thread last began a round. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: weakref.WeakKeyDictionary[threading.Thread, float] = weakref.WeakKeyDictionary()

    def note(self) -> None:
        """Note that the calling thread begins a round."""
        with self._lock:
            self._seen[threading.current_thread()] = time.monotonic()

    def stuck(self, threads: Iterable[threading.Thread], seconds: float) -> list[str]:
        """Return the names of threads that have begun no round for `seconds`; a new thread's time starts now."""
        now = time.monotonic()
        with self._lock:
            return [each.name for each in threads if now - self._seen.setdefault(each, now) > seconds]


def revive(worker: Worker, abandon: Callable[[int], None]) -> list[ConsumerThread]:
    """Replace dead threads.

    Args:
        worker: A worker that runs and is not about to stop.
        abandon: Called with the id of each dead worker thread, to give back the permits of its messages.

    Returns:
        The new consumer threads.
    """
    dead = [index for index, thread in enumerate(worker.workers) if _has_died(thread)]
    for index in dead:
        # Abandon all before any new thread starts: a new thread may get the id of a dead one.
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
    # Bodies in progress are acknowledged through the consumer that is stored here.
    replacement.consumer = dead.consumer
    worker.consumers[queue_name] = replacement
    replacement.start()
    return replacement


def _has_died(thread: ConsumerThread | WorkerThread) -> bool:
    # A thread that was told to stop is no longer `running`; one that has not started has no ident.
    return thread.running and thread.ident is not None and not thread.is_alive()
