"""Derives a pod's status and outcome from its object in the API. Pure.

In the flow: `get`, `list` and the watch turn every pod they see into a ``Sight``. A pod has ended only when neither its
program nor another container beside it can run any more, because its slot goes to the next execution then. What the
API says about that depends on the release, and is *uncertain* in two cases, which `tails.py` confirms. First, an old
kubelet reports a pod that ran too long as Failed while its program still has its grace period, and never says when that
is over. Second, a pod deleted without a grace period while it starts is gone for the API, though its program may run.
"""

from dataclasses import dataclass
from datetime import datetime

from ...scheduler.model.trace_context import read_trace
from ..phases import PodPhase, Reason
from ..pods import PodOutcome, PodStatus
from . import labels
from .objects import Pod
from .reasons import container_state, exit_code, is_collected, others_run, vanished, why_ended, why_not_started

_NEVER = 0.0  #: the timestamp that stands for "never"
_MESSAGE_MAX_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Sight:
    """A pod as it was when it was read.

    Args:
        pod: The object of the API.
        status: The derived status; its outcome's output is a note on the end at most: `tails.py` adds the log's tail.
        certain: If there is an outcome, whether the program is known not to run any more.
        has_log: Whether the program ever ran, so that there may be a log.
    """

    pod: Pod
    status: PodStatus
    certain: bool = True
    has_log: bool = False

    @property
    def running(self) -> PodStatus:
        """The status without its outcome, for an end that cannot be confirmed yet."""
        return _status(self.pod, PodPhase.RUNNING, None)


def look(pod: Pod) -> Sight | None:
    """Derive a pod's status. None: it is not Bandmaster's pod."""
    if (
        labels.EXECUTION_ID not in pod.metadata.annotations
        or not pod.metadata.labels.get(labels.ATTEMPT, "").isdecimal()
    ):
        return None
    state = container_state(pod)
    certain = _has_ended(pod)
    if certain is None:
        phase = PodPhase.PENDING if state.running is None else PodPhase.RUNNING
        return Sight(pod, _status(pod, phase, None))
    outcome = _outcome(pod)
    phase = PodPhase.SUCCEEDED if outcome.reason is Reason.COMPLETED else PodPhase.FAILED
    has_log = state.terminated is not None or state.running is not None or vanished(pod)
    return Sight(pod, _status(pod, phase, outcome), certain, has_log)


def started(pod: Pod) -> bool:
    """Whether the program was ever started."""
    state = container_state(pod)
    return state.running is not None or state.terminated is not None or vanished(pod)


def deletion_asked_at(pod: Pod) -> float | None:
    """When its deletion was requested, unix seconds, computed from the end of its grace period, which the API gives."""
    if pod.metadata.deletion_timestamp is None:
        return None
    return pod.metadata.deletion_timestamp.timestamp() - (pod.metadata.deletion_grace_period_seconds or 0)


def _has_ended(pod: Pod) -> bool | None:
    """Whether the pod has ended. None: no. False: the API says so, but the program may still run or start."""
    state = container_state(pod)
    if state.terminated is not None or vanished(pod):
        return None if others_run(pod) else True
    if pod.status.phase in ("Succeeded", "Failed"):
        return not pod.spec.node_name or is_collected(pod)
    if not pod.spec.node_name:
        # A pod that is being deleted is never bound to a node any more, so nothing of it will run.
        return True if pod.deleting else None
    at_once = pod.deleting and pod.metadata.deletion_grace_period_seconds == 0
    return False if at_once and state.running is None else None


def _outcome(pod: Pod) -> PodOutcome:
    state = container_state(pod)
    terminated = state.terminated
    program = terminated or state.running
    started_at = None if program is None else _seconds(program.started_at)
    ended_at = _ended_at(pod)
    asked_at = deletion_asked_at(pod)
    # In the same second, the deletion was most likely the cause, unless it was for the other containers only.
    outlived = labels.OUTLIVED in pod.metadata.annotations
    reason = why_ended(pod, stopped_by_deletion=asked_at is not None and ended_at >= asked_at and not outlived)
    return PodOutcome(
        exit_code=None if terminated is None else exit_code(terminated),
        signal=None,  # the API reports it as exit code 128 plus the signal, as a shell does
        reason=reason,
        started_at=started_at,
        ended_at=ended_at,
        duration_seconds=max(0.0, ended_at - started_at) if started_at is not None else 0.0,
        output_tail=_note(pod, reason),
        output_truncated=False,
    )


def _ended_at(pod: Pod) -> float:
    terminated = container_state(pod).terminated
    finished_at = _seconds(terminated.finished_at) if terminated is not None else None
    if finished_at is not None:
        return finished_at
    deadline = pod.spec.active_deadline_seconds
    if pod.status.reason == Reason.DEADLINE_EXCEEDED and pod.status.start_time is not None and deadline is not None:
        return pod.status.start_time.timestamp() + deadline
    asked_at = deletion_asked_at(pod)
    if asked_at is not None:
        return asked_at
    changes = [_seconds(each.last_transition_time) or _NEVER for each in pod.status.conditions]
    return max([pod.metadata.creation_timestamp.timestamp(), *changes])


def _note(pod: Pod, reason: Reason) -> str:
    """A note about an end that the program's own output cannot explain."""
    terminated = container_state(pod).terminated
    said = pod.metadata.annotations.get(labels.ENDED_MESSAGE)
    if reason is Reason.START_ERROR and terminated is not None:
        words = terminated.message
    elif reason in (Reason.COMPLETED, Reason.OOM_KILLED, Reason.DEADLINE_EXCEEDED):
        words = ""
    elif started(pod) or reason is Reason.DELETED:
        words = said or pod.status.message
    elif pod.status.reason == Reason.DEADLINE_EXCEEDED:
        words = why_not_started(pod)[1]  # its own message mentions only the time
    else:
        words = said or pod.status.message or why_not_started(pod)[1]
    words = " ".join(words.split())[:_MESSAGE_MAX_CHARS]
    return f"[bandmaster: {words}]\n" if words else ""


def _status(pod: Pod, phase: PodPhase, outcome: PodOutcome | None) -> PodStatus:
    return PodStatus(
        name=pod.name,
        uid=pod.uid,
        execution_id=pod.metadata.annotations[labels.EXECUTION_ID],
        attempt=int(pod.metadata.labels[labels.ATTEMPT]),
        phase=phase,
        outcome=outcome,
        created_at=pod.metadata.creation_timestamp.timestamp(),
        deleting=pod.deleting,
        acknowledged=labels.ACKNOWLEDGED in pod.metadata.labels,
        discarded=labels.DISCARDED in pod.metadata.annotations,
        trace=read_trace(*(pod.metadata.annotations.get(name) for name in (labels.TRACEPARENT, labels.TRACESTATE))),
    )


def _seconds(moment: datetime | None) -> float | None:
    """Unix seconds; None also for the epoch, which stands for "never" in the API."""
    return None if moment is None or moment.timestamp() == _NEVER else moment.timestamp()
