"""``ExecutionQueueService``: the queue as its callers see it, on the default lane.

In the flow: Python callers and the actors enqueue here. A program that runs executions takes them with `try_schedule`
and gives their slots back with `release`. Attributes lead to everything else: `transitions` (every transition by its
name), `controls` (limits, rates, pauses, settings), `views`, `overview`, `gates` and `ids` (reads), `maintenance`
(repairs), `outbox` (ends still to be reported). Every method is one atomic script; a crash between two of them costs at
most a lease.
"""

from collections.abc import Iterable
from typing import Literal

import redis

from .engine.engine import Engine
from .engine.grants import Cancellation, Code, Parked
from .engine.parking import Candidate
from .engine.settlements import Retry
from .events import ExecutionRequestedEvent
from .gate_loads import GateLoads
from .ids import Ids
from .keys import DEFAULT_LANE, Keys
from .model.errors import InvalidRequest, QueueRejected
from .model.identifiers import check_execution_id
from .model.limits import check_limit
from .model.priority import Priority
from .model.states import TERMINAL, State
from .overview import Overview
from .spans import traced
from .transport.scripts import DEADLINE_SECONDS, Scripts
from .views import ActionStatistics, Explanation


def candidate_of(event: ExecutionRequestedEvent, lane: str = DEFAULT_LANE) -> Candidate:
    """Return the event in the form in which it is parked."""
    due = event.scheduled_at
    return Candidate(
        execution_id=event.execution_id,
        lane=lane,
        band=int(event.priority),
        action=event.action,
        user_id=event.metadata.user_id,
        gates=event.gates,
        timeout_ms=event.timeout_seconds * 1000,
        due_ms=None if due is None else int(due.timestamp() * 1000),
        event=event.to_json(),
    )


class ExecutionQueueService(Engine):
    """Executions in strict priority order under hard limits, in Redis. Safe to share between threads."""

    def __init__(
        self,
        redis_client: "redis.Redis",
        *,
        prefix: str = "exec_queue",
        lane: str = DEFAULT_LANE,
        deadline_seconds: float = DEADLINE_SECONDS,
        by: str | None = None,
    ) -> None:
        """Only the client is required.

        Args:
            redis_client: A client of the server that holds the queue; it says how to reach the server. In place of a
                plain client's connections and retries, the queue uses its own.
            prefix: The beginning of all its keys; ``{exec_queue}`` puts them into one cluster slot.
            lane: The lane whose executions it enqueues, takes and counts, under this lane's bounds.
            deadline_seconds: How long a call may take in all, retries included, whatever the server does.
            by: The name in the journal for operator calls (`cancel`, `controls` and the like) that give no `by`;
                None: user, host and program of this process.
        """
        super().__init__(Scripts(redis_client, Keys(prefix), deadline_seconds=deadline_seconds), lane=lane, by=by)
        self.overview = Overview(self.scripts)
        self.gates = GateLoads(self, self.overview)
        self.ids = Ids(self.scripts, self.overview)

    def enqueue(self, event: ExecutionRequestedEvent | dict[str, object]) -> int:
        """Accept an execution.

        Returns:
            Its position, from 0: how many executions wait before it. -1 if it is scheduled for later.

        Raises:
            QueueRejected: InvalidRequest, QueueFull, UserLimitExceeded or DuplicateExecution; nothing was kept.
            QueueUnavailable: If Redis did not answer or has no memory left.
        """
        request = traced(ExecutionRequestedEvent.from_any(event))
        return self.transitions.park(candidate_of(request, self.lane)).position

    def enqueue_many(
        self, events: Iterable[ExecutionRequestedEvent | dict[str, object]], *, by: str | None = None
    ) -> list[Parked | QueueRejected]:
        """Accept many executions, each checked and accepted on its own. They go to Redis in calls of a hundred, each
        call with the full deadline; the first call that gets no answer ends the whole.

        Args:
            events: The executions.
            by: Who asks, for the journal; None: a program, of which nothing is noted.

        Returns:
            One result for each event, in order: accepted, or why not.

        Raises:
            QueueUnavailable: If Redis did not answer; some may have been accepted.
        """
        outcomes: list[Parked | QueueRejected] = []
        checked: list[tuple[int, Candidate]] = []
        for index, event in enumerate(events):
            try:
                candidate = candidate_of(traced(ExecutionRequestedEvent.from_any(event)), self.lane)
            except InvalidRequest as error:
                outcomes.append(error)
            else:
                checked.append((index, candidate))
                outcomes.append(Parked(candidate.execution_id, State.PENDING, -1))
        parked = self.transitions.park_many([candidate for _, candidate in checked], by=by)
        for (index, _), outcome in zip(checked, parked, strict=True):
            outcomes[index] = outcome
        return outcomes

    def try_schedule(self, max_active: int | None = None) -> tuple[str, ExecutionRequestedEvent] | None:
        """Take the best eligible execution, if there is a slot for it.

        Args:
            max_active: A limit to use in place of the lane's max_concurrent_executions.

        Returns:
            Its id and event; None if no waiting execution may run. Nobody renews the grant, so its lease is as long as
            the execution may take: the start deadline (for pulling an image), the event's timeout and a grace period.
            An execution whose event cannot be read is ended as FAILED, and the next one is taken (D4).

        Raises:
            InvalidRequest: If `max_active` is no limit.
            QueueUnavailable: If Redis did not answer.
        """
        if max_active is not None:
            check_limit("max_active", max_active)
        while True:
            admission = self.transitions.admit((self.lane,), 1, max_active=max_active)
            for grant in admission.grants:
                try:
                    return grant.execution_id, ExecutionRequestedEvent.from_any(grant.event or b"")
                except InvalidRequest:
                    self.transitions.release(
                        grant.execution_id, grant.attempt, State.FAILED, reason="event_unreadable", dead=True
                    )
            if not admission.more and not admission.grants:
                return None

    def release(self, execution_id: str, attempt: int | None = None, state: State = State.COMPLETED) -> Code:
        """Give a slot back. An unknown execution, an ended one or a stale attempt changes nothing and raises nothing.

        Args:
            execution_id: The execution that holds the slot.
            attempt: The attempt of the grant; None for the current one.
            state: The terminal state it ends in.

        Returns:
            OK if the slot was given back, else why not.
        """
        if state not in TERMINAL:
            raise InvalidRequest("state", f"{state!r} does not end an execution", allowed=", ".join(sorted(TERMINAL)))
        return self.transitions.release(check_execution_id(execution_id), attempt, State(state)).code

    def retry(
        self,
        execution_id: str,
        attempt: int,
        *,
        delay_ms: int = 0,
        kind: Literal["retry", "hand_back", "infrastructure"] = "retry",
        reason: str = "retry",
    ) -> Code:
        """Give the slot back and let the execution wait again, in one step: at once at its original score, or after
        `delay_ms`.
        """
        retry = Retry(check_execution_id(execution_id), attempt, kind, delay_ms=delay_ms, reason=reason)
        return self.transitions.settle(retry).code

    def cancel(self, execution_id: str, *, by: str | None = None) -> Cancellation:
        """End a waiting execution; ask a running one to end, which keeps its slot until its pod or thread is gone.

        Args:
            execution_id: The execution to cancel.
            by: Who cancels, for the journal. The methods below take the same argument.
        """
        return self.transitions.cancel(check_execution_id(execution_id), by=by)

    def update_priority(self, execution_id: str, new_priority: Priority | str | int, *, by: str | None = None) -> bool:
        """Move a waiting execution to another band; there it is ordered by the time at which it was accepted.

        Returns:
            False if it does not wait (any more).
        """
        code, _ = self.transitions.reprioritise(check_execution_id(execution_id), new_priority, by=by)
        return code is Code.OK

    def remove(self, execution_id: str, *, by: str | None = None) -> bool:
        """Remove an execution by force, with its slot and its event, at once, even if its work still runs. `cancel` is
        the careful way.

        Returns:
            Whether there was such an execution.
        """
        return self.transitions.remove(check_execution_id(execution_id), by=by)[0] is Code.OK

    def drop(self, execution_id: str, *, by: str | None = None) -> bool:
        """Forget a dead letter; False if the execution is not one."""
        return self.transitions.drop(check_execution_id(execution_id), by=by)

    def get_queue_status(self) -> dict[str, int]:
        """``queue_depth`` and ``active_count`` of this service's lane."""
        status = self.views.status()
        return {"queue_depth": status.queue_depth, "active_count": status.active_count}

    def get_pending_by_priority(self) -> dict[str, int]:
        """How many executions wait in this service's lane, by the name of their priority."""
        return self.views.status().pending_by_priority

    def explain(self, execution_id: str) -> Explanation:
        """An execution's position and why it waits: which gate holds it back, or how many are before it."""
        return self.views.explain(check_execution_id(execution_id))

    def action_statistics(self, action: str) -> ActionStatistics:
        """An action's queue length, active count, limit, oldest wait and lifetime counters."""
        return self.views.action_statistics(action)
