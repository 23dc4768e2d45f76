"""The queue between consumers and worker threads, safe for threads that put messages in while an exception strikes.

In the flow: a thread that ends brings the next executions, and an exception may be thrown into it just then: a time
limit's, a shutdown's. Where that strikes in the standard library's `put`, its lock may stay taken for good, and the
worker stands still. So here nothing runs between taking the lock and holding it for certain. Memory only.
"""

from heapq import heappush
from queue import PriorityQueue
from typing import Any, TypeVar, cast

from dramatiq import Worker
from dramatiq import threading as dramatiq_threading

T = TypeVar("T")


class WorkQueue(PriorityQueue[T]):  # pyright: ignore[reportInvalidTypeArguments]  # Dramatiq's items compare
    """The standard one without a bound; what is thrown into who puts is raised, and the queue is whole."""

    def put(self, item: T, block: bool = True, timeout: float | None = None) -> None:
        """Put something in; there is room always."""
        items: Any = self.queue
        # The lock itself: `with` a Condition runs a method of it, in which an exception may strike.
        with self.mutex:
            try:
                heappush(items, item)  # the first call since the lock was taken: before it, nothing strikes
            finally:
                # If something struck while it was compared, it is in all the same.
                self.unfinished_tasks += 1
                self.not_empty.notify()


def give_work_queue(worker: Worker) -> None:
    """Have a worker that has not started any thread yet use one; into greenlets, nothing is thrown while they run."""
    if not cast(Any, dramatiq_threading).is_gevent_active():
        worker.work_queue = WorkQueue()
