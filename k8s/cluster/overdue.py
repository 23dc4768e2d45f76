"""Which pods nothing more can be expected of, and since when. Pure.

In the flow: the watch asks for every pod that it sees and looks again when the time has come; `deleting.py` then writes
the reason on the pod and deletes it. Kubernetes itself may wait for ever: a pod that never starts has no deadline. What
was deleted is not given up a second time: while its node does not confirm that nothing of it runs, its slot is held,
until the node is back, the cluster says that it is no more, or somebody takes the finalizer off by hand. If the watcher
dies, the next one comes to the same conclusion.
"""

from dataclasses import dataclass

from ...configs.areas import KubernetesSettings
from ..phases import Reason
from . import labels
from .objects import Pod
from .outcome import look, started
from .reasons import never_starts, node_silent_since, why_not_started


@dataclass(frozen=True, slots=True)
class Overdue:
    """What is to be done with a pod: to say why, and to delete it.

    Args:
        at: From when on, unix seconds.
        reason: What will be its outcome's reason.
        message: What the user is told.
    """

    at: float
    reason: Reason
    message: str


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
    if pod.deleting or started(pod):
        return None
    reason, words = why_not_started(pod)
    created_at = pod.metadata.creation_timestamp.timestamp()
    if never_starts(pod):
        return Overdue(created_at, reason, words)
    deadline = settings.pending_deadline_seconds
    return Overdue(created_at + deadline, reason, f"not started within {deadline} s: {words}")
