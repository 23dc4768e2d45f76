"""Seed 4's manager of queues in memory, step by step: what slots and gates are compared with.

Each action has a list of waiters and a number of active ones; a completion names the action, and wakes the next. A
waiter's own steps are methods, so that a test says in which order things happen.
"""

import threading
from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Waiter:
    """One execution that waits for its turn."""

    execution_id: str
    woken: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class ActionQueue:
    """Of one action."""

    max_concurrent: int
    active_count: int = 0
    waiting: deque[Waiter] = field(default_factory=deque[Waiter])


class QueueManager:
    """One process's."""

    def __init__(self) -> None:
        self.queues: dict[str, ActionQueue] = {}

    def begin(self, action: str, execution_id: str, max_concurrent: int) -> Waiter:
        """The first half of `enqueue_and_wait`: who has a slot is woken already."""
        queue = self.queues.setdefault(action, ActionQueue(max_concurrent))
        queue.max_concurrent = max_concurrent
        waiter = Waiter(execution_id)
        if queue.active_count < queue.max_concurrent:
            queue.active_count += 1
            waiter.woken.set()
        else:
            queue.waiting.append(waiter)
        return waiter

    def enqueue_and_wait(self, action: str, execution_id: str, max_concurrent: int) -> None:
        """Block until it has a slot; the record of the execution is created after that."""
        self.begin(action, execution_id, max_concurrent).woken.wait()

    def time_out(self, action: str, waiter: Waiter) -> None:
        """The waiter's timer was first, whether it was woken or not: its caller gets an error."""
        queue = self.queues[action]
        if waiter in queue.waiting:
            queue.waiting.remove(waiter)

    def notify_completion(self, action: str) -> None:
        """One has ended; nobody says which."""
        queue = self.queues[action]
        queue.active_count -= 1
        if queue.waiting:
            queue.active_count += 1
            queue.waiting.popleft().woken.set()

    def clear_all_queues(self) -> None:
        """Drop the waiters."""
        for queue in self.queues.values():
            queue.waiting.clear()
