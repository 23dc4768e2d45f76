"""From a pod as the API server shows it to what the rest of Bandmaster knows about it. Pure.

In the flow: `get`, `list` and the watch turn every pod they see into a ``Sight``. A pod has ended when its program is
known not to run any more, nor another container beside it, and not before: its slot goes to the next one then. What the
API says about that depends on the release, and is *uncertain* in two cases, which `tails.py` confirms. An old kubelet
reports a pod that ran too long as Failed while its program still has its grace period, and never says when that is
over. And a pod that is deleted at once while it starts counts as gone to the API, though its program may run yet.
"""

from dataclasses import dataclass
from datetime import datetime

from ..phases import PodPhase, Reason
from ..pods import PodOutcome, PodStatus
from . import labels
from .objects import Pod
from .reasons import container_state, exit_code, is_collected, others_run, vanished, why_ended, why_not_started

_NEVER = 0.0  #: the time stamp of what never happened
_MESSAGE_MAX_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Sight:
    """A pod as it was seen.

    Args:
        pod: The object.
        status: What it means; an outcome's output is a note on what there is no log for, the log is added by `logs.py`.
        certain: Whether the program is known not to run, if there is an outcome.
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
    """What a pod is and how far it got. None: it is none of Bandmaster's."""
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
    """When its deletion was asked for, unix seconds; the API says when its grace period ends."""
    if pod.metadata.deletion_timestamp is None:
        return None
    return pod.metadata.deletion_timestamp.timestamp() - (pod.metadata.deletion_grace_period_seconds or 0)


def _has_ended(pod: Pod) -> bool | None:
    """None: it has not. False: the API says so, but the program may still run, or begin to."""
    state = container_state(pod)
    if state.terminated is not None or vanished(pod):
        return None if others_run(pod) else True
    if pod.status.phase in ("Succeeded", "Failed"):
        return not pod.spec.node_name or is_collected(pod)
    if not pod.spec.node_name:
        # It is never bound to a node once it is being deleted, and then gone.
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
    # In the same second, the deletion was most likely the cause, unless only what ran beside it was to be ended.
    outlived = labels.OUTLIVED in pod.metadata.annotations
    reason = why_ended(pod, stopped_by_deletion=asked_at is not None and ended_at >= asked_at and not outlived)
    return PodOutcome(
        exit_code=None if terminated is None else exit_code(terminated),
        signal=None,  # the API adds it to 128, as a shell does
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
    """What is known about an end that the program itself could not speak of."""
    terminated = container_state(pod).terminated
    said = pod.metadata.annotations.get(labels.ENDED_MESSAGE)
    if reason is Reason.START_ERROR and terminated is not None:
        words = terminated.message
    elif reason in (Reason.COMPLETED, Reason.OOM_KILLED, Reason.DEADLINE_EXCEEDED):
        words = ""
    elif started(pod) or reason is Reason.DELETED:
        words = said or pod.status.message
    elif pod.status.reason == Reason.DEADLINE_EXCEEDED:
        words = why_not_started(pod)[1]  # its message speaks of time only
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
    )


def _seconds(moment: datetime | None) -> float | None:
    """Unix seconds; None also for the epoch, which is how the API says "never"."""
    return None if moment is None or moment.timestamp() == _NEVER else moment.timestamp()
