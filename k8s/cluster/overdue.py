"""Decides when a pod is overdue and has to be given up: it does not start, or its node is lost. Pure.

In the flow: the watch calls this for every pod that it sees, and acts when the time has come; `deleting.py` then writes
the reason on the pod and deletes it. Kubernetes itself may wait for ever: a pod that never starts has no deadline. And
Kubernetes counts a deadline from when the kubelet first saw the pod, so a slow image pull would use up the program's
time. So once the program's start is known, the deadline is set anew, by the clock of the kubelet, which enforces it. A
deleted pod is not given up a second time: its slot stays held until its node confirms that nothing of the pod runs,
the cluster says that the node is gone, or somebody removes the finalizer. If the watcher dies, the next one comes to
the same conclusion.
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
    """What has to be done with a pod: delete it, with a reason; or shorten its deadline.

    Args:
        at: The time from which on to do so, unix seconds.
        reason: The reason for its outcome.
        message: The details for the user.
        deadline_seconds: Its new deadline, counted from when the kubelet first saw the pod; None: delete the pod.
    """

    at: float
    reason: Reason
    message: str
    deadline_seconds: int | None = None


def overdue(pod: Pod, settings: KubernetesSettings) -> Overdue | None:
    """When and why to give up a pod, in its present state. None: never, it runs, has ended, or was given up."""
    sight = look(pod)
    if sight is None or sight.status.outcome is not None or labels.ENDED_BECAUSE in pod.metadata.annotations:
        return None
    silent_since = node_silent_since(pod)
    if silent_since is not None:
        # Also for a pod that is being deleted: whoever deleted it, most likely its node was the reason.
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
    """When to shorten a started pod's deadline: once its timeout may be over; most programs end earlier, at no cost."""
    running, first_seen_at = container_state(pod).running, pod.status.start_time
    if running is None or running.started_at is None or first_seen_at is None:
        return None
    try:
        timeout_seconds = float(pod.metadata.annotations.get(labels.TIMEOUT_SECONDS, ""))
    except ValueError:
        return None
    # Both times are known in whole seconds only.
    seconds = math.ceil((running.started_at - first_seen_at).total_seconds() + timeout_seconds) + 1
    if pod.spec.active_deadline_seconds is not None and pod.spec.active_deadline_seconds <= seconds:
        return None
    at = pod.metadata.creation_timestamp.timestamp() + timeout_seconds
    message = f"it may run for {timeout_seconds:g} s"
    return Overdue(at, Reason.DEADLINE_EXCEEDED, message, deadline_seconds=seconds)
