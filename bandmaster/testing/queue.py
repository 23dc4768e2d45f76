"""The queue in memory, with the naive rule: of all waiting executions, admit the first whose gates all have room.

In the flow: `BandedStubBroker.enqueue` parks here, a lane's consumer takes, ack and nack end. There are no indexes, and
no single waiter is woken: every change wakes all waiters, and each checks all executions. This is evidently right, and
fast enough for the thousand messages of a test. Nothing outlives the broker.
"""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from bandmaster.scheduler.engine.grants import Grant
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.errors import DuplicateExecution, NotUnique, QueueFull, UserLimitExceeded
from bandmaster.scheduler.model.identifiers import check_lane
from bandmaster.scheduler.model.limits import EVERYTHING
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import WAITING, State
from bandmaster.scheduler.model.unique import Conflict

from .controls import MemoryControls
from .execution import Execution
from .unheld import MemoryShares
from .unique import MemoryKeys


class MemoryQueue:
    """All lanes of one broker. Safe to share between threads."""

    def __init__(self) -> None:
        self._threads: int | None = None
        self._consumed: set[str] = set()
        self._held: Counter[str] = Counter()
        self._changed = threading.Condition()
        self.controls = MemoryControls(self._changed, self._held)
        self.shares = MemoryShares()
        self._waiting: dict[str, Execution] = {}
        self._running: dict[str, Execution] = {}
        self._ended: dict[str, State] = {}
        self._keys = MemoryKeys()
        self._places = itertools.count(1)

    def begin_boot(self) -> None:
        """Note that a worker boots: nothing is admitted before all of its consumers are known, so none is favoured."""
        self._threads = self._threads or 0

    def end_boot(self, threads: int, lanes: Iterable[str]) -> None:
        """Note that a worker has booted: as many executions may run at once as it has threads."""
        with self._changed:
            self._threads = (self._threads or 0) + threads
            self._consumed.update(lanes)
            self._changed.notify_all()

    def shut_down(self, threads: int) -> None:
        """Note that a worker and its consumers are gone."""
        with self._changed:
            self._threads = (self._threads or 0) - threads or None
            if self._threads is None:
                self._consumed.clear()

    def consume(self, lane: str) -> None:
        """Note that a lane is consumed."""
        with self._changed:
            self._consumed.add(lane)

    def tell(self) -> None:
        """Wake every consumer."""
        with self._changed:
            self._changed.notify_all()

    def park(self, candidate: Candidate, message: bytes) -> Execution | None:
        """Accept an execution.

        Returns:
            The waiting one that it replaces, if it does, which has ended.

        Raises:
            QueueRejected: DuplicateExecution, NotUnique, QueueFull or UserLimitExceeded; nothing was kept.
        """
        with self._changed:
            self._promote()
            replaced = self._check(candidate)
            if replaced is not None:
                del self._waiting[replaced.candidate.execution_id]
                self._note_end(replaced, State.CANCELLED)
            execution = Execution(candidate, message)
            self._keys.take(execution)
            self._enter(execution)
            return replaced

    def _note_end(self, execution: Execution, state: State) -> None:
        execution.state = self._ended[execution.candidate.execution_id] = state

    def _check(self, candidate: Candidate) -> Execution | None:
        name, user = candidate.execution_id, candidate.user_id
        known = self._waiting.get(name) or self._running.get(name)
        if known is not None or name in self._ended:
            raise DuplicateExecution(execution_id=name, state=known.state if known else self._ended[name])
        replaced = self._replaced_by(candidate)
        waiting = [e for e in self._waiting.values() if e.candidate.lane == candidate.lane and e is not replaced]
        most = self.controls.bound(candidate.lane, "max_queue_size")
        if most is not None and len(waiting) >= most:
            raise QueueFull(execution_id=name, limit=most)
        most = self.controls.bound(candidate.lane, "max_executions_per_user")
        if user and most is not None and sum(e.candidate.user_id == user for e in waiting) >= most:
            raise UserLimitExceeded(execution_id=name, user_id=user, limit=most)
        return replaced

    def _replaced_by(self, candidate: Candidate) -> Execution | None:
        unique = candidate.unique
        other = None if unique is None else self._keys.holder(unique.key)
        if unique is None or other is None or (unique.on_conflict is Conflict.REPLACE and other.state in WAITING):
            return other
        raise NotUnique(
            execution_id=candidate.execution_id,
            key=unique.key,
            other=other.candidate.execution_id,
            state=other.state,
            is_dropped=unique.on_conflict is Conflict.DROP,
        )

    def _enter(self, execution: Execution) -> None:
        due_ms = execution.candidate.due_ms
        execution.state = State.SCHEDULED if due_ms is not None and due_ms > _now_ms() else State.PENDING
        execution.place = next(self._places)
        self._waiting[execution.candidate.execution_id] = execution
        self._changed.notify_all()

    def _promote(self) -> None:
        now_ms = _now_ms()
        scheduled = [e for e in self._waiting.values() if e.state is State.SCHEDULED]
        for execution in sorted(scheduled, key=lambda e: (e.candidate.due_ms or 0, e.place)):
            if (execution.candidate.due_ms or 0) <= now_ms:
                execution.state, execution.place = State.PENDING, next(self._places)

    def take(self, lane: str, most: int, seconds: float, unless: Callable[[], bool]) -> Execution | None:
        """Admit the best execution of all consumed lanes, if it is in this lane; wait for one if necessary.

        Args:
            lane: The caller's lane.
            most: How many may run at once if no worker runs.
            seconds: How long to wait at most.
            unless: Ends the wait early when it returns True.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                self._promote()
                best = self._best(most if self._threads is None else self._threads)
                if best is not None and best.candidate.lane == lane:
                    return self._grant(best)
                left = deadline - time.monotonic()
                if left <= 0 or unless():
                    return None
                due = [e.candidate.due_ms or 0 for e in self._waiting.values() if e.state is State.SCHEDULED]
                self._changed.wait(min([left, *((each - _now_ms()) / 1000 + 0.001 for each in due)]))

    def _best(self, most: int) -> Execution | None:
        bound = self.controls.max_concurrent
        if len(self._running) >= (most if bound is None else min(most, bound)):
            return None
        if self.controls.is_paused(EVERYTHING):
            return None
        room = cache(self.controls.has_room)
        lanes = {
            lane for lane in self._consumed if not self.controls.is_paused(f"lane:{lane}") and self._has_slots(lane)
        }
        pending = (e for e in self._waiting.values() if e.state is State.PENDING and e.candidate.lane in lanes)
        return min((e for e in pending if all(map(room, e.gates))), key=lambda e: e.order, default=None)

    def _has_slots(self, lane: str) -> bool:
        bound = self.controls.bound(lane, "max_concurrent_executions")
        return bound is None or sum(e.candidate.lane == lane for e in self._running.values()) < bound

    def _grant(self, execution: Execution) -> Execution:
        candidate, before = execution.candidate, execution.grant
        attempt = before.attempt + 1 if before else 1
        execution.grant = Grant(candidate.execution_id, attempt, "", candidate.lane, 0, None, execution.message)
        execution.state = State.RUNNING
        self._running[candidate.execution_id] = self._waiting.pop(candidate.execution_id)
        self._held.update(execution.gates)
        self._changed.notify_all()  # the next best may be in another lane
        return execution

    def end(self, execution: Execution, state: State) -> bool:
        """End an execution and release its slot; False if it waits for a noted retry instead, having not failed."""
        with self._changed:
            self._give_back(execution)
            again, execution.again = execution.again, None
            if again is not None and state is State.COMPLETED:
                execution.candidate, execution.message = again
                self._enter(execution)
                return False
            self._note_end(execution, state)
            return True

    def hand_back(self, execution: Execution) -> None:
        """Put an execution that has not begun back to its place."""
        with self._changed:
            self._give_back(execution)
            execution.state = State.PENDING
            self._waiting[execution.candidate.execution_id] = execution

    def _give_back(self, execution: Execution) -> None:
        del self._running[execution.candidate.execution_id]
        self._held.subtract(execution.gates)
        self._changed.notify_all()

    def waiting(self, lane: str) -> list[Execution]:
        """The waiting executions of a lane, in the order in which they may start; those not yet due come last."""
        with self._changed:
            self._promote()
            found = [e for e in self._waiting.values() if e.candidate.lane == lane]
            return sorted(found, key=lambda e: (e.state is State.SCHEDULED, e.order))

    def drop(self, lane: str) -> int:
        """Drop the waiting executions of a lane, and return their number."""
        with self._changed:
            dropped = [name for name, e in self._waiting.items() if e.candidate.lane == lane]
            for name in dropped:
                self._waiting.pop(name).state = State.CANCELLED
            return len(dropped)

    def forget_ended(self) -> None:
        """Allow the ids of ended executions, and unique keys, to be used again."""
        self._ended.clear()
        self._keys.clear()

    def on(self, lane: str) -> "MemoryLane":
        """The figures of one lane."""
        return MemoryLane(self, check_lane(lane))

    def figures(self, lane: str) -> tuple[dict[str, int], int]:
        """The number of a lane's due, waiting executions by the name of their priority; and of its running ones."""
        with self._changed:
            self._promote()
            own = [e.candidate.band for e in self.waiting(lane) if e.state is State.PENDING]
            running = sum(e.candidate.lane == lane for e in self._running.values())
            return {priority.name: own.count(int(priority)) for priority in Priority}, running


@dataclass(frozen=True, slots=True)
class MemoryLane:
    """One lane's figures, as `ExecutionQueueService.on` gives them."""

    queue: MemoryQueue
    lane: str

    def get_queue_status(self) -> dict[str, int]:
        """``queue_depth`` and ``active_count``, of the lane."""
        bands, running = self.queue.figures(self.lane)
        return {"queue_depth": sum(bands.values()), "active_count": running}

    def get_pending_by_priority(self) -> dict[str, int]:
        """The number of the lane's due, waiting executions, by the name of their priority."""
        return self.queue.figures(self.lane)[0]


def _now_ms() -> int:
    return int(time.time() * 1000)
