"""``execution_completed``, ``_failed``, ``_timeout``, ``_cancelled``: what ends an execution, and frees its slot.

In the flow: the watcher, or whoever else ran the execution, sends these; they are ungated, on a queue of their own, so
they never wait behind work. Each settles under the attempt it reports: a late or doubled one changes nothing (D8, D33).
The result is stored and the slot given back in one script, then the pod is acknowledged; if the process dies between
the two, the next watch sees the ended pod again and reports it again, which only acknowledges it.
"""

from typing import Any

import dramatiq
import structlog

from ..k8s.pods import pod_name
from ..scheduler.events import (
    ExecutionCancelledEvent,
    ExecutionCompletedEvent,
    ExecutionEndedEvent,
    ExecutionFailedEvent,
    ExecutionTimeoutEvent,
)
from ..scheduler.grants import Code, Settled, read_settled
from ..scheduler.states import State
from .outcome import result_json
from .runtime import LIFECYCLE_QUEUE, broker, pods, queue

log = structlog.get_logger(__name__)
OPTIONS: dict[str, Any] = {
    "broker": broker,
    "queue_name": LIFECYCLE_QUEUE,
    "max_retries": 20,
    "min_backoff": 500,
    "max_backoff": 30_000,
}


@dramatiq.actor(**OPTIONS)
def execution_completed(event: dict[str, Any]) -> None:
    """The execution ended well: ExecutionCompletedEvent."""
    _end(ExecutionCompletedEvent.from_any(event), State.COMPLETED)


@dramatiq.actor(**OPTIONS)
def execution_failed(event: dict[str, Any]) -> None:
    """The execution ended badly: ExecutionFailedEvent. If its node was to blame it is tried again, up to a bound."""
    failed = ExecutionFailedEvent.from_any(event)
    if not failed.infrastructure:
        _end(failed, State.FAILED)
        return
    call = queue.transitions.prepare_retry(
        failed.execution_id, failed.attempt, "infrastructure", reason=failed.reason or "infrastructure"
    )
    _said(failed, read_settled(call.run()))
    _acknowledge(failed)


@dramatiq.actor(**OPTIONS)
def execution_timeout(event: dict[str, Any]) -> None:
    """The execution ran longer than it may: ExecutionTimeoutEvent. Its slot is held until its pod is gone (D11)."""
    timeout = ExecutionTimeoutEvent.from_any(event)
    pod = pods.get(pod_name(timeout.execution_id, timeout.attempt)) if timeout.attempt else None
    if pod is None or pod.phase.ended:
        _end(timeout, State.TIMEOUT)
        return
    queue.transitions.cancel(timeout.execution_id, outcome=State.TIMEOUT, reason="timeout")
    pods.delete(pod.name, uid=pod.uid)


@dramatiq.actor(**OPTIONS)
def execution_cancelled(event: dict[str, Any]) -> None:
    """Somebody wants the execution to end: ExecutionCancelledEvent. Its slot is held until its pod is gone (D10)."""
    cancelled = ExecutionCancelledEvent.from_any(event)
    found = queue.transitions.cancel(cancelled.execution_id, reason=cancelled.reason or "cancelled")
    log.info("execution_cancelled", execution_id=cancelled.execution_id, code=found.code, state=found.state)
    if found.state is State.CANCELLING and found.pod is not None:
        pods.delete(found.pod, uid=found.pod_uid)


def _end(event: ExecutionEndedEvent, state: State) -> None:
    settled = queue.transitions.release(
        event.execution_id,
        event.attempt or None,
        state,
        reason=event.reason or "",
        result=result_json(event),
    )
    _said(event, settled)
    _acknowledge(event)


def _said(event: ExecutionEndedEvent, settled: Settled) -> None:
    level = log.info if settled.code is Code.OK else log.warning
    level(
        "execution_ended",
        execution_id=event.execution_id,
        attempt=event.attempt,
        code=settled.code,
        state=settled.state,
        reason=event.reason,
    )


def _acknowledge(event: ExecutionEndedEvent) -> None:
    if not event.attempt:
        return
    pod = pods.get(pod_name(event.execution_id, event.attempt))
    if pod is not None and pod.phase.ended:
        pods.acknowledge(pod.name, pod.uid)
