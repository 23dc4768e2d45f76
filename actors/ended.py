"""``execution_completed``, ``_failed``, ``_timeout``, ``_cancelled``: the actors that end executions and free slots.

In the flow: the watch, or any other runner of the execution, sends these messages. The actors are ungated, on a queue
of their own, so they never wait behind work. Each settles the attempt that it reports: a late or duplicate report
changes nothing (D8, D33). One script stores the result and gives the slot back; then the pod is acknowledged. If the
process dies between the two, the next watch reports the ended pod again, which only acknowledges it (F3). A report
about a pod that is still alive asks the pod to end; only an infrastructure failure is ignored then. The slot is held
until the pod is gone; then the execution ends as reported.
"""

from typing import Any

import dramatiq

from ..configs.logger import Logger
from ..k8s.pods import PodStatus, pod_name
from ..scheduler.engine.grants import Code, pod_holder
from ..scheduler.engine.settlements import Retry
from ..scheduler.events import (
    ExecutionCancelledEvent,
    ExecutionCompletedEvent,
    ExecutionEndedEvent,
    ExecutionFailedEvent,
    ExecutionTimeoutEvent,
)
from ..scheduler.model.errors import InvalidRequest
from ..scheduler.model.operators import NO_OPERATOR
from ..scheduler.model.states import State
from .event_actor import CancelledActor, CompletedActor, FailedActor, Given, TimeoutActor
from .outcome import result_json
from .pod_life import life_of, tell_life
from .runtime import LIFECYCLE_QUEUE, broker, on_shard_of, pods, this_queue
from .saga import pause_ms

log = Logger(__name__)
OPTIONS: dict[str, Any] = {
    "broker": broker,
    "queue_name": LIFECYCLE_QUEUE,
    "max_retries": 20,
    "min_backoff": 500,
    "max_backoff": 30_000,
    "throws": InvalidRequest,  # an invalid event that somebody pushed unchecked stays invalid: no retries
}


@dramatiq.actor(actor_class=CompletedActor, **OPTIONS)
def execution_completed(event: Given) -> None:
    """The execution ended well: ExecutionCompletedEvent."""
    _end(ExecutionCompletedEvent.from_any(event), State.COMPLETED)


@dramatiq.actor(actor_class=FailedActor, **OPTIONS)
def execution_failed(event: Given) -> None:
    """The execution ended badly: ExecutionFailedEvent. If its node was to blame it is tried again, up to a bound."""
    failed = ExecutionFailedEvent.from_any(event)
    if failed.infrastructure:
        with on_shard_of(failed.execution_id):
            _try_again(failed)
    else:
        _end(failed, State.FAILED)


@dramatiq.actor(actor_class=TimeoutActor, **OPTIONS)
def execution_timeout(event: Given) -> None:
    """The execution ran longer than it may: ExecutionTimeoutEvent. Its slot is held until its pod is gone (D11)."""
    _end(ExecutionTimeoutEvent.from_any(event), State.TIMEOUT)


@dramatiq.actor(actor_class=CancelledActor, **OPTIONS)
def execution_cancelled(event: Given) -> None:
    """Somebody wants the execution to end: ExecutionCancelledEvent. Its slot is held until its pod is gone (D10)."""
    cancelled = ExecutionCancelledEvent.from_any(event)
    with on_shard_of(cancelled.execution_id):
        _cancel(cancelled)


def _cancel(cancelled: ExecutionCancelledEvent) -> None:
    found = this_queue().transitions.cancel(cancelled.execution_id, reason=cancelled.reason or "cancelled")
    log.info("execution_cancelled", execution_id=cancelled.execution_id, code=found.code, state=found.state)
    # If it is RUNNING, its body learns of this at the next renewal of its lease, and the hand-over deletes the pod.
    if found.state is State.CANCELLING and found.pod is not None:
        pods().delete(found.pod, uid=found.pod_uid)


def _end(event: ExecutionEndedEvent, state: State) -> None:
    with on_shard_of(event.execution_id):
        _end_here(event, state)


def _end_here(event: ExecutionEndedEvent, state: State) -> None:
    pod = _pod_of(event)
    if _is_overtaken(event, pod):
        return
    if pod is not None and not pod.phase.ended:
        _end_pod(event, state, pod)
        return
    life = life_of(event, pod)
    settled = this_queue().transitions.release(
        event.execution_id,
        event.attempt,
        state,
        holder=_holder(event),
        reason=event.reason or "",
        result=result_json(event),
    )
    _said(event, settled.code, settled.state)
    tell_life(life, settled)
    _acknowledge(pod)


def _end_pod(event: ExecutionEndedEvent, state: State, pod: PodStatus) -> None:
    """Handle an end that was reported while the pod is alive: ask the pod to end, hold the slot until it is gone."""
    found = this_queue().transitions.cancel(
        event.execution_id, outcome=state, reason=event.reason or state.lower(), attempt=event.attempt, by=NO_OPERATOR
    )
    _said(event, found.code, found.state)
    if found.code is Code.OK and found.state is State.CANCELLING:
        pods().delete(pod.name, uid=pod.uid)


def _try_again(event: ExecutionFailedEvent) -> None:
    pod = _pod_of(event)
    if _is_overtaken(event, pod):
        return
    if pod is not None and not pod.phase.ended:
        # A retry now would let two pods of one execution run at once. This pod's own end will be reported.
        log.warning("pod_still_runs", execution_id=event.execution_id, attempt=event.attempt, pod=pod.name)
        return
    retry = Retry(
        event.execution_id,
        event.attempt,
        "infrastructure",
        holder=_holder(event),
        # The first retry is at once, in the execution's old place; each further one waits longer.
        delay_ms=0 if event.attempt == 1 else pause_ms(event.attempt - 1),
        reason=event.reason or "infrastructure",
        result=result_json(event),
    )
    life = life_of(event, pod)
    settled = this_queue().transitions.settle(retry)
    _said(event, settled.code, settled.state)
    tell_life(life, settled)
    _acknowledge(pod)


def _holder(event: ExecutionEndedEvent) -> str:
    return "" if event.pod_uid is None else pod_holder(event.pod_uid)


def _pod_of(event: ExecutionEndedEvent) -> PodStatus | None:
    return pods().get(pod_name(event.execution_id, event.attempt)) if event.attempt else None


def _is_overtaken(event: ExecutionEndedEvent, pod: PodStatus | None) -> bool:
    """Whether another pod has the ended pod's name by now: a server with older data granted the attempt again."""
    if pod is None or event.pod_uid in (None, pod.uid):
        return False
    log.warning("end_of_an_earlier_pod", execution_id=event.execution_id, attempt=event.attempt, pod=pod.name)
    return True


def _said(event: ExecutionEndedEvent, code: Code, state: State | None) -> None:
    level = log.info if code in (Code.OK, Code.ENDED) else log.warning
    level(
        "execution_ended",
        execution_id=event.execution_id,
        attempt=event.attempt,
        code=code,
        state=state,
        reason=event.reason,
    )


def _acknowledge(pod: PodStatus | None) -> None:
    if pod is not None and not pod.acknowledged:
        pods().acknowledge(pod.name, pod.uid)
