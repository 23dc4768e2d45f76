"""Why a pod ended, from the words of the kubelet, the scheduler and the controllers. Pure.

In the flow: `outcome.py` asks when a pod has ended, `overdue.py` when one does not start. The words differ between
releases of Kubernetes: what 1.20 says and what today's says are both in the tables. A death that nobody here caused
and that comes before anybody's deletion is the program's own; one that its node or the cluster caused is not.
"""

from typing import Final

from ..phases import Reason
from . import labels
from .objects import Condition, ContainerState, Pod, Terminated

#: `status.reason`: who ended the whole pod.
_OF_POD: Final = {
    "DeadlineExceeded": Reason.DEADLINE_EXCEEDED,
    "Evicted": Reason.EVICTED,
    "Preempting": Reason.PREEMPTED,
    "Preempted": Reason.PREEMPTED,
    "NodeLost": Reason.NODE_LOST,
    # A node that shuts down: "Shutdown" up to 1.20, "Terminated" since.
    "NodeShutdown": Reason.EVICTED,
    "Shutdown": Reason.EVICTED,
    "Terminated": Reason.EVICTED,
    # The kubelet had no room after all.
    "NodeAffinity": Reason.EVICTED,
    "UnexpectedAdmissionError": Reason.EVICTED,
    "TopologyAffinityError": Reason.EVICTED,
    "InsufficientResourceError": Reason.EVICTED,
}
_NO_ROOM: Final = "OutOf"  # OutOfcpu, OutOfmemory, OutOfpods …
#: The condition DisruptionTarget's reason, since 1.25.
_OF_DISRUPTION: Final = {
    "PreemptionByScheduler": Reason.PREEMPTED,
    "PreemptionByKubeScheduler": Reason.PREEMPTED,
    "EvictionByEvictionAPI": Reason.EVICTED,
    "TerminationByKubelet": Reason.EVICTED,
    "DeletionByTaintManager": Reason.NODE_LOST,
    "DeletionByPodGC": Reason.NODE_LOST,
}
#: A container's waiting reason.
_OF_WAITING: Final = {
    "ErrImagePull": Reason.IMAGE_PULL,
    "ImagePullBackOff": Reason.IMAGE_PULL,
    "ErrImageNeverPull": Reason.IMAGE_PULL,
    "InvalidImageName": Reason.IMAGE_PULL,
    "ImageInspectError": Reason.IMAGE_PULL,
    "RegistryUnavailable": Reason.IMAGE_PULL,
    "SignatureValidationFailed": Reason.IMAGE_PULL,
    "CreateContainerConfigError": Reason.CREATE_CONTAINER_CONFIG_ERROR,
    "CreateContainerError": Reason.CREATE_CONTAINER_CONFIG_ERROR,
    "RunContainerError": Reason.START_ERROR,
}
_START_ERRORS: Final = ("StartError", "ContainerCannotRun", "RunContainerError")
#: The kubelet found no container where it had seen one run: nobody knows how it ended.
UNKNOWN: Final = "ContainerStatusUnknown"
#: An eviction that the program has itself to blame for.
_OWN_FAULT: Final = (
    "Usage of EmptyDir volume",
    "exceeds the total limit of containers",
    "local ephemeral storage limit",
)

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def container_state(pod: Pod) -> ContainerState:
    """What the kubelet says about the program; nothing as long as it says nothing."""
    return next(
        (each.state for each in pod.status.container_statuses if each.name == labels.CONTAINER), ContainerState()
    )


def vanished(pod: Pod) -> bool:
    """Whether the container ran and is gone, and nobody knows how it ended."""
    for each in pod.status.container_statuses:
        if each.name == labels.CONTAINER:
            last = each.last_state.terminated
            return each.state.waiting is not None and last is not None and last.reason == UNKNOWN
    return False


def why_ended(pod: Pod, *, stopped_by_deletion: bool) -> Reason:
    """Why a pod that has ended did so.

    Args:
        pod: It.
        stopped_by_deletion: Whether it was still there to be ended when its deletion was asked for.
    """
    terminated = container_state(pod).terminated
    said = pod.metadata.annotations.get(labels.ENDED_BECAUSE)
    if stopped_by_deletion and said in set(Reason):
        return Reason(said)
    by_pod = _by_pod(pod)
    if by_pod is not None:
        return by_pod
    if terminated is not None and terminated.reason == Reason.OOM_KILLED:
        return Reason.OOM_KILLED
    disruption = _disruption(pod)
    if disruption is not None and (terminated is None or terminated.exit_code != 0):
        return _OF_DISRUPTION.get(disruption.reason, Reason.EVICTED)
    if terminated is not None and terminated.reason in _START_ERRORS:
        return Reason.START_ERROR
    if stopped_by_deletion:
        return Reason.DELETED
    if terminated is None or terminated.reason == UNKNOWN:
        return Reason.NODE_LOST
    return Reason.COMPLETED if terminated.exit_code == 0 else Reason.ERROR


def why_not_started(pod: Pod) -> tuple[Reason, str]:
    """Why a pod has not started, as far as anybody says, and the words it is said in."""
    waiting = container_state(pod).waiting
    if not pod.spec.node_name:
        scheduled = next((each for each in pod.status.conditions if each.type == "PodScheduled"), None)
        return Reason.UNSCHEDULABLE, scheduled.message if scheduled else "no scheduler has looked at it"
    if waiting is None:
        return Reason.NODE_LOST, f"node {pod.spec.node_name} has not said anything about it"
    reason = _OF_WAITING.get(waiting.reason, Reason.CREATE_CONTAINER_CONFIG_ERROR)
    return reason, f"{waiting.reason}: {waiting.message}" if waiting.message else waiting.reason


def node_silent_since(pod: Pod) -> float | None:
    """Since when the program's node is out of reach, unix seconds. None: it is not.

    A program without probes is ready as long as it runs; the node controller alone says otherwise.
    """
    ready = next((each for each in pod.status.conditions if each.type == "Ready"), None)
    if container_state(pod).running is None or ready is None or ready.status == "True":
        return None
    return None if ready.last_transition_time is None else ready.last_transition_time.timestamp()


def never_starts(pod: Pod) -> bool:
    """Whether waiting longer cannot help."""
    waiting = container_state(pod).waiting
    return waiting is not None and waiting.reason == "InvalidImageName"


def exit_code(terminated: Terminated) -> int | None:
    """The program's exit code; what a shell would say for one that could not be started; None: nobody knows it."""
    if terminated.reason == UNKNOWN:
        return None
    if terminated.reason in _START_ERRORS:
        message = terminated.message.lower()
        if "not found" in message or "no such file" in message:
            return _NOT_FOUND
        if "permission denied" in message or "exec format" in message:
            return _NOT_EXECUTABLE
    return terminated.exit_code


def _by_pod(pod: Pod) -> Reason | None:
    said = pod.status.reason
    if pod.status.phase != "Failed" or not said:
        return None
    state = container_state(pod)
    if said == "DeadlineExceeded" and state.waiting is not None and state.waiting.reason in _OF_WAITING:
        return _OF_WAITING[state.waiting.reason]  # the time went by while it could not start
    if said == "Evicted" and any(words in pod.status.message for words in _OWN_FAULT):
        return Reason.ERROR
    if said.startswith(_NO_ROOM):
        return Reason.EVICTED
    found = _OF_POD.get(said)
    if found is None and state.terminated is None and state.running is None:
        return Reason.CREATE_CONTAINER_CONFIG_ERROR  # the node refuses such pods
    return found


def _disruption(pod: Pod) -> Condition | None:
    targets = (each for each in pod.status.conditions if each.type == "DisruptionTarget" and each.status == "True")
    return next(targets, None)
