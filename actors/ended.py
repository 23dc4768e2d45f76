"""``execution_completed``, ``_failed``, ``_timeout``, ``_cancelled``: what ends an execution, and frees its slot.

In the flow: the watcher, or whoever else ran the execution, sends these; they are ungated, on a queue of their own, so
they never wait behind work. Each settles under the attempt it reports: a late or doubled one changes nothing (D8, D33).
The result is stored and the slot given back in one script, then the pod is acknowledged; if the process dies between
the two, the next watch sees the ended pod again and reports it again, which only acknowledges it (F3). While the pod is
alive the slot is held, whatever is reported: the execution is asked to end, and ends as reported when its pod is gone.
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
from .runtime import LIFECYCLE_QUEUE, broker, pods, queue
from .saga import pause_ms

log = Logger(__name__)
OPTIONS: dict[str, Any] = {
    "broker": broker,
    "queue_name": LIFECYCLE_QUEUE,
    "max_retries": 20,
    "min_backoff": 500,
    "max_backoff": 30_000,
    "throws": InvalidRequest,  # what was pushed unchecked by somebody else is no better at the next try
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
    found = queue.transitions.cancel(cancelled.execution_id, reason=cancelled.reason or "cancelled")
    log.info("execution_cancelled", execution_id=cancelled.execution_id, code=found.code, state=found.state)
    # RUNNING: its body is told at the next renewal, and its hand-over deletes the pod.
    if found.state is State.CANCELLING and found.pod is not None:
        pods().delete(found.pod, uid=found.pod_uid)


def _end(event: ExecutionEndedEvent, state: State) -> None:
    pod = _pod_of(event)
    if _is_overtaken(event, pod):
        return
    if pod is not None and not pod.phase.ended:
        _end_pod(event, state, pod)
        return
    settled = queue.transitions.release(
        event.execution_id,
        event.attempt,
        state,
        holder=_holder(event),
        reason=event.reason or "",
        result=result_json(event),
    )
    _said(event, settled.code, settled.state)
    _acknowledge(pod)


def _end_pod(event: ExecutionEndedEvent, state: State, pod: PodStatus) -> None:
    """Reported by somebody else than its pod, which is alive: ask it to end so, and hold the slot until it is gone."""
    found = queue.transitions.cancel(
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
        # Two pods of one execution would run at once. The pod knows best: its own end will be reported.
        log.warning("pod_still_runs", execution_id=event.execution_id, attempt=event.attempt, pod=pod.name)
        return
    retry = Retry(
        event.execution_id,
        event.attempt,
        "infrastructure",
        holder=_holder(event),
        # The first time at once and in its old place; if it goes on, later and later.
        delay_ms=0 if event.attempt == 1 else pause_ms(event.attempt - 1),
        reason=event.reason or "infrastructure",
        result=result_json(event),
    )
    settled = queue.transitions.settle(retry)
    _said(event, settled.code, settled.state)
    _acknowledge(pod)


def _holder(event: ExecutionEndedEvent) -> str:
    return "" if event.pod_uid is None else pod_holder(event.pod_uid)


def _pod_of(event: ExecutionEndedEvent) -> PodStatus | None:
    return pods().get(pod_name(event.execution_id, event.attempt)) if event.attempt else None


def _is_overtaken(event: ExecutionEndedEvent, pod: PodStatus | None) -> bool:
    """Whether it is the end of a pod whose name another has now: a server with older data gave the attempt again."""
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
