"""Pure functions from a pod's outcome to the lifecycle event that reports it, and from that event to the stored result.

In the flow: `watch_completions` makes the event, the lifecycle actors settle with it, `bandmaster show` reads the
result back.
"""

import json
from typing import Any

from ..k8s.pods import PodStatus, Reason
from ..scheduler.events import (
    OUTPUT_TAIL_MAX_CHARS,
    ExecutionCompletedEvent,
    ExecutionEndedEvent,
    ExecutionFailedEvent,
    ExecutionTimeoutEvent,
)

ABSENT = "PodAbsent"
RESULT_FIELDS = frozenset({"exit_code", "reason", "duration_seconds", "output_tail", "output_truncated"})


def event_of(pod: PodStatus) -> ExecutionEndedEvent:
    """Return the event that reports how a pod ended; `at` and the duration are those of its program.

    Raises:
        InvalidRequest: If the pod's facts make no valid event.
    """
    outcome = pod.outcome
    if outcome is None:
        raise ValueError(f"pod {pod.name} has not ended")
    tail = outcome.output_tail.encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    facts: dict[str, Any] = {
        "execution_id": pod.execution_id,
        "attempt": pod.attempt,
        "pod_uid": pod.uid,
        "at": int(outcome.ended_at * 1000),
        "exit_code": outcome.exit_code if outcome.signal is None else 128 + outcome.signal,
        "reason": outcome.reason,
        "duration_seconds": outcome.duration_seconds,
        "output_tail": tail[-OUTPUT_TAIL_MAX_CHARS:],
        "output_truncated": outcome.output_truncated or len(tail) > OUTPUT_TAIL_MAX_CHARS,
    }
    if outcome.reason is Reason.COMPLETED:
        return ExecutionCompletedEvent.from_any(facts)
    if outcome.reason is Reason.DEADLINE_EXCEEDED:
        return ExecutionTimeoutEvent.from_any(facts)
    return ExecutionFailedEvent.from_any(facts | {"infrastructure": outcome.reason.infrastructure})


def absent_event(execution_id: str, attempt: int, pod_uid: str, last: PodStatus | None = None) -> ExecutionEndedEvent:
    """Return the event for a pod that should be there and is not.

    That somebody deleted it, or that nobody saw how it ended, is not the execution's fault: it is tried again, or, if
    it was cancelled, ends.

    Args:
        execution_id: The execution.
        attempt: The attempt.
        pod_uid: The pod's uid.
        last: How it had ended, if that is known.

    Raises:
        InvalidRequest: If the pod's facts make no valid event.
    """
    if last is not None:
        event = event_of(last)
        is_deleted = isinstance(event, ExecutionFailedEvent) and event.reason == Reason.DELETED
        return event.model_copy(update={"infrastructure": True}) if is_deleted else event
    return ExecutionFailedEvent(
        execution_id=execution_id, attempt=attempt, pod_uid=pod_uid, reason=ABSENT, infrastructure=True
    )


def result_json(event: ExecutionEndedEvent) -> bytes:
    """Return the stored result of an execution, as JSON."""
    return event.model_dump_json(include=set(RESULT_FIELDS), exclude_none=True).encode()


def rejection_json(error: Exception) -> bytes:
    """Return the stored result of an execution that could never run, as JSON."""
    return json.dumps({"reason": "PodRejected", "output_tail": str(error), "output_truncated": False}).encode()
