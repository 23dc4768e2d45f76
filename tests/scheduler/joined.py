"""Executions that hold slots, and threads that give them back together: `Joining` with real calls of a real server."""

import threading
from collections.abc import Callable
from typing import Any

import redis
from defects.contrast import event

from bandmaster.scheduler.engine.grants import Code, read_exchange
from bandmaster.scheduler.engine.joining import Ask, Batch, Joining
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_SECONDS, wait_until

MOST = 5
"""In one call."""


class End(Ask):
    """The end of one execution, which is told who made the call."""

    def __init__(self, execution_id: str) -> None:
        super().__init__()
        self.execution_id = execution_id
        self.code: Code | None = None
        self.led_by: threading.Thread | None = None


class Ends:
    """Gives slots back, some in one call."""

    def __init__(self, queue: ExecutionQueueService) -> None:
        self.queue = queue
        self.joining: Joining[End, Batch[End]] = Joining(
            self._work, lambda waiting: waiting[:MOST], Batch, queue.scripts.deadline_seconds
        )
        self.sent: list[list[str]] = []
        """What went together, each time."""
        self.before: Callable[[], object] = lambda: None
        """Done by the leader before it makes a call."""
        self.after: Callable[[], object] = lambda: None
        """Done by it when it has the answer."""

    def _work(self, batch: Batch[End]) -> None:
        if batch.call is None:
            releases = [Release(ask.execution_id, 1, State.COMPLETED) for ask in batch.asks]
            batch.call = self.queue.transitions.prepare_exchange(releases)
        self.before()
        self.sent.append([ask.execution_id for ask in batch.asks])
        outcomes = read_exchange(batch.call.run()).outcomes
        self.after()
        for ask, outcome in zip(batch.asks, outcomes, strict=True):
            ask.code, ask.led_by = outcome.code, threading.current_thread()


def held(client: "redis.Redis", count: int, deadline_seconds: float | None = None) -> tuple[Ends, list[End]]:
    """Executions that hold slots, and nothing asked yet."""
    options: dict[str, Any] = {} if deadline_seconds is None else {"deadline_seconds": deadline_seconds}
    queue = ExecutionQueueService(client, **options)
    queue.controls.change_setting("max_concurrent_executions", count)
    names = [f"e{number}" for number in range(count)]
    for name in names:
        queue.enqueue(event(name))
    assert len(queue.transitions.admit((queue.lane,), count).grants) == count
    return Ends(queue), [End(name) for name in names]


class Asker(threading.Thread):
    """A thread that asks for one end, and keeps what it is told."""

    def __init__(self, ends: Ends, end: End) -> None:
        super().__init__(daemon=True)
        self.error: BaseException | None = None
        self._ends, self._end = ends, end
        self.start()

    def run(self) -> None:
        try:
            self._ends.joining.do(self._end)
        except BaseException as error:  # noqa: BLE001  # the test looks what it was
            self.error = error

    @property
    def is_unavailable(self) -> bool:
        """Whether it was told that the server did not answer."""
        return isinstance(self.error, QueueUnavailable)


def behind(ends: Ends, gate: "Gate", asks: list[End]) -> list[Asker]:
    """A thread each, the first of which makes a call and is held there, and the others wait."""
    first = Asker(ends, asks[0])
    assert gate.here.wait(GENEROUS_SECONDS)
    others = [Asker(ends, ask) for ask in asks[1:]]
    wait_until(lambda: all(ask.is_queued for ask in asks), what="all have asked")
    return [first, *others]


def ended(askers: list[Asker]) -> list[BaseException | None]:
    """What the threads were told; each has come to its end."""
    for asker in askers:
        asker.join(GENEROUS_SECONDS)
    assert not any(asker.is_alive() for asker in askers), "a thread waits for ever"
    return [asker.error for asker in askers]


class Gate:
    """Holds a leader where a test wants it, the first time it comes there."""

    def __init__(self) -> None:
        self.here, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> None:
        if not self.here.is_set():
            self.here.set()
            assert self.go_on.wait(GENEROUS_SECONDS)
