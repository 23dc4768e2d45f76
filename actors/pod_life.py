"""The span of a pod's life, from its hand-over to its end, told by the worker that settles the attempt.

In the flow: around the settlement of a reported end. The pod itself says which span its attempt had, in whatever
process; only the settlement that took effect tells of it, so a report that comes twice tells it once. If the process
dies between the two, this span is lost, and nothing else. While no traces are on, nothing is asked.
"""

from dataclasses import replace
from typing import Final

from ..k8s.pods import PodStatus, pod_name
from ..scheduler.engine.grants import Code, Outcome, Settled
from ..scheduler.events import ExecutionEndedEvent
from ..scheduler.model.states import State
from ..scheduler.spans import ATTEMPT, EXECUTION, EXIT_CODE, POD, STATE, Past, spans
from .runtime import pods, this_queue

_NAME: Final = "run pod"
_STARTED: Final = "bandmaster.pod.started"


def life_of(event: ExecutionEndedEvent, pod: PodStatus | None) -> Past | None:
    """Find out a pod's life, before the settlement, which deletes the record of its hand-over.

    Args:
        event: The report of its end.
        pod: The pod; None: it is gone, and its last words say what is known.

    Returns:
        The span, without how the execution ended; None if nobody wants one, or nothing is known of the pod.
    """
    on = spans()
    if not on.is_on:
        return None
    if pod is None and event.pod_uid is not None:
        pod = pods().last_words(pod_name(event.execution_id, event.attempt), event.pod_uid)
    if pod is None or pod.outcome is None or pod.trace is None or not on.wants(pod.trace):
        return None
    ended = pod.outcome
    meta = this_queue().views.meta(event.execution_id)
    # Of the hand-over Redis has the time; where it does not (it was restored), the pod's own creation is near it.
    known_ms = meta.get("handed_over_at") if meta.get("pod_uid") == pod.uid else None
    handed_over_at = pod.created_at if known_ms is None else int(known_ms) / 1000
    attributes: dict[str, str | int] = {EXECUTION: event.execution_id, ATTEMPT: event.attempt or 0, POD: pod.name}
    if ended.exit_code is not None:
        attributes[EXIT_CODE] = ended.exit_code
    return Past(
        name=_NAME,
        parent=pod.trace,
        began_at=handed_over_at,
        ended_at=max(handed_over_at, ended.ended_at),  # by two clocks, and on a cluster in whole seconds
        attributes=attributes,
        events={} if ended.started_at is None else {_STARTED: ended.started_at},
        error=ended.reason.value,
    )


def tell_life(life: Past | None, settled: Outcome | Settled) -> None:
    """Tell a pod's life, if this settlement ended it.

    Args:
        life: From `life_of`.
        settled: The answer to the settlement.
    """
    if life is None or settled.code is not Code.OK or settled.state is None:
        return
    error = "" if settled.state is State.COMPLETED else life.error
    spans().tell(replace(life, attributes={**life.attributes, STATE: settled.state.value}, error=error))
