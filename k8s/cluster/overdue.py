"""Which pods nothing more can be expected of, and since when. Pure.

In the flow: the watch asks for every pod that it sees and looks again when the time has come; `deleting.py` then writes
the reason on the pod and deletes it. Kubernetes itself may wait for ever: a pod that never starts has no deadline. And
it counts a deadline from the moment that the kubelet saw the pod, so a slow pull would take the program's time: the
deadline is set to what is left once that is known, by the clock of the kubelet, which enforces it. What was deleted is
not given up a second time: while its node does not confirm that nothing of it runs, its slot is held, until the node
is back, the cluster says that it is no more, or somebody takes the finalizer off. If the watcher dies, the next one
comes to the same conclusion.
"""

import math
from dataclasses import dataclass

from ...configs.areas import KubernetesSettings
from ..phases import Reason
from . import labels
from .objects import Pod
from .outcome import look, started
from .reasons import container_state, hopeless_after_seconds, node_silent_since, why_not_started


@dataclass(frozen=True, slots=True)
class Overdue:
    """What is to be done with a pod: to say why, and to delete it; or to shorten its deadline.

    Args:
        at: From when on, unix seconds.
        reason: What will be its outcome's reason.
        message: What the user is told.
        deadline_seconds: What its deadline is to be, counted from its kubelet's first sight; None: it is deleted.
    """

    at: float
    reason: Reason
    message: str
    deadline_seconds: int | None = None


def overdue(pod: Pod, settings: KubernetesSettings) -> Overdue | None:
    """When a pod will have to be given up, as it looks now. None: never, it runs or has ended, or was given up."""
    sight = look(pod)
    if sight is None or sight.status.outcome is not None or labels.ENDED_BECAUSE in pod.metadata.annotations:
        return None
    silent_since = node_silent_since(pod)
    if silent_since is not None:
        # Also of one that is being deleted: whoever did so, most likely its node was why.
        message = f"node {pod.spec.node_name} has been out of reach for {settings.node_lost_seconds} s"
        return Overdue(silent_since + settings.node_lost_seconds, Reason.NODE_LOST, message)
    if pod.deleting:
        return None
    if started(pod):
        return _deadline(pod)
    reason, words = why_not_started(pod)
    created_at = pod.metadata.creation_timestamp.timestamp()
    hopeless_after = hopeless_after_seconds(pod)
    if hopeless_after is not None and hopeless_after < settings.pending_deadline_seconds:
        return Overdue(created_at + hopeless_after, reason, words)
    deadline = settings.pending_deadline_seconds
    return Overdue(created_at + deadline, reason, f"not started within {deadline} s: {words}")


def _deadline(pod: Pod) -> Overdue | None:
    """From when on a program may have used up its time: no earlier, most end by themselves and cost no call."""
    running, first_seen_at = container_state(pod).running, pod.status.start_time
    if running is None or running.started_at is None or first_seen_at is None:
        return None
    try:
        timeout_seconds = float(pod.metadata.annotations.get(labels.TIMEOUT_SECONDS, ""))
    except ValueError:
        return None
    # Whole seconds are known of both moments.
    seconds = math.ceil((running.started_at - first_seen_at).total_seconds() + timeout_seconds) + 1
    if pod.spec.active_deadline_seconds is not None and pod.spec.active_deadline_seconds <= seconds:
        return None
    at = pod.metadata.creation_timestamp.timestamp() + timeout_seconds
    message = f"it may run for {timeout_seconds:g} s"
    return Overdue(at, Reason.DEADLINE_EXCEEDED, message, deadline_seconds=seconds)
