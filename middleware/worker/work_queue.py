"""The queue between consumers and worker threads, safe if an asynchronous exception strikes a thread that puts.

In the flow: a thread whose body ended puts the next executions into the queue. Just then an exception may be thrown
into it, by a time limit or a shutdown. In the standard library's `put` this may leave the lock taken for good, and the
worker stands still. So here no call runs between the taking of the lock and its safe release. Memory only.
"""

from heapq import heappush
from queue import PriorityQueue
from typing import Any, TypeVar, cast

from dramatiq import Worker
from dramatiq import threading as dramatiq_threading

T = TypeVar("T")


class WorkQueue(PriorityQueue[T]):  # pyright: ignore[reportInvalidTypeArguments]  # Dramatiq's items compare
    """A `PriorityQueue` without a bound. An exception thrown into `put` is raised, and the queue stays intact."""

    def put(self, item: T, block: bool = True, timeout: float | None = None) -> None:
        """Put an item in; there is always room."""
        items: Any = self.queue
        # Use the lock itself: `with` on a Condition calls a Python method, in which an exception may strike.
        with self.mutex:
            try:
                heappush(items, item)  # the first call since the lock was taken: no exception strikes before it
            finally:
                # Even if an exception struck during the comparisons, the item is in the queue.
                self.unfinished_tasks += 1
                self.not_empty.notify()


def give_work_queue(worker: Worker) -> None:
    """Give a worker that has no threads yet a `WorkQueue`; under gevent, no exception strikes a running greenlet."""
    if not cast(Any, dramatiq_threading).is_gevent_active():
        worker.work_queue = WorkQueue()
