"""Which pods nothing more can be expected of, and since when. Pure.

In the flow: the watch asks for every pod that it sees and looks again when the time has come; `deleting.py` then writes
the reason on the pod and deletes it. Kubernetes itself may wait for ever in both cases: ``activeDeadlineSeconds``
counts from a pod's start, so one that never starts has no deadline; a pod whose node is gone is evicted if enough other
nodes are well, and then stays until somebody confirms that it is gone. If the watcher dies, the next one comes to the
same conclusion.
"""

from dataclasses import dataclass

from ...configs.areas import KubernetesSettings
from ..phases import Reason
from .objects import Pod
from .outcome import look, started
from .reasons import never_starts, node_silent_since, why_not_started

#: Kubelets confirm a deletion within seconds, those of 1.20 when they next clear up, once a minute.
KUBELET_SLACK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Overdue:
    """What is to be done with a pod.

    Args:
        at: From when on, unix seconds.
        reason: What will be its outcome's reason.
        message: What the user is told.
        force: Whether not to wait for its node any more.
    """

    at: float
    reason: Reason
    message: str
    force: bool


def overdue(pod: Pod, settings: KubernetesSettings) -> Overdue | None:
    """When a pod will have to be given up, as it looks now. None: never, it runs or has ended."""
    sight = look(pod)
    if sight is None or sight.status.outcome is not None:
        return None
    silent_since = node_silent_since(pod)
    if pod.metadata.deletion_timestamp is not None:
        slack = KUBELET_SLACK_SECONDS if silent_since is None else 0.0
        return Overdue(
            at=pod.metadata.deletion_timestamp.timestamp() + settings.node_lost_seconds + slack,
            reason=Reason.NODE_LOST,
            message=f"node {pod.spec.node_name} does not confirm that the pod is gone",
            force=True,
        )
    if silent_since is not None:
        message = f"node {pod.spec.node_name} has been out of reach for {settings.node_lost_seconds} s"
        return Overdue(silent_since + settings.node_lost_seconds, Reason.NODE_LOST, message, force=False)
    if started(pod):
        return None
    reason, words = why_not_started(pod)
    created_at = pod.metadata.creation_timestamp.timestamp()
    if never_starts(pod):
        return Overdue(created_at, reason, words, force=False)
    deadline = settings.pending_deadline_seconds
    return Overdue(created_at + deadline, reason, f"not started within {deadline} s: {words}", force=False)
