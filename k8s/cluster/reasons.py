"""Finds why a pod ended, from the reasons that the kubelet, the scheduler and the controllers give. Pure.

In the flow: `outcome.py` calls this when a pod has ended, `overdue.py` when one does not start. Releases of Kubernetes
word their reasons differently: the tables have those of 1.20 and today's. An end before any deletion that Bandmaster
did not cause is the program's own; an end that its node or the cluster caused is not.
"""

from typing import Final

from ..phases import Reason
from . import labels
from .objects import Condition, ContainerState, Pod, Terminated, Waiting

#: The values of `status.reason`: why the whole pod was ended.
_OF_POD: Final = {
    "DeadlineExceeded": Reason.DEADLINE_EXCEEDED,
    "Evicted": Reason.EVICTED,
    "Preempting": Reason.PREEMPTED,
    "Preempted": Reason.PREEMPTED,
    "NodeLost": Reason.NODE_LOST,
    # The node shut down: "Shutdown" up to 1.20, "Terminated" since.
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
#: The reasons of the condition DisruptionTarget, since 1.25.
_OF_DISRUPTION: Final = {
    "PreemptionByScheduler": Reason.PREEMPTED,
    "PreemptionByKubeScheduler": Reason.PREEMPTED,
    "EvictionByEvictionAPI": Reason.EVICTED,
    "TerminationByKubelet": Reason.EVICTED,
    "DeletionByTaintManager": Reason.NODE_LOST,
    "DeletionByPodGC": Reason.NODE_LOST,
}
#: The reasons why a container is waiting.
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
#: Waiting reasons that may mean that something is missing for good, and the words of registries and runtimes for it.
_OF_MISSING: Final = ("ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError")
_MISSING: Final = ("not found", "notfound", "manifest unknown", "does not exist", "repository name not known")
#: By then a kubelet has tried to pull twice, and a Secret that is created together with its execution exists.
HOPELESS_SECONDS: Final = 15.0
_START_ERRORS: Final = ("StartError", "ContainerCannotRun", "RunContainerError")
#: The kubelet found no container where it had seen one run: nobody knows how it ended.
UNKNOWN: Final = "ContainerStatusUnknown"
#: Messages of evictions that the program caused itself.
_OWN_FAULT: Final = (
    "Usage of EmptyDir volume",
    "exceeds the total limit of containers",
    "local ephemeral storage limit",
)

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def container_state(pod: Pod) -> ContainerState:
    """The state of the program's container; an empty state until the kubelet reports one."""
    return next(
        (each.state for each in pod.status.container_statuses if each.name == labels.CONTAINER), ContainerState()
    )


def vanished(pod: Pod) -> bool:
    """Whether the container ran and is gone, with an unknown end."""
    for each in pod.status.container_statuses:
        if each.name == labels.CONTAINER:
            last = each.last_state.terminated
            return each.state.waiting is not None and last is not None and last.reason == UNKNOWN
    return False


def others_run(pod: Pod) -> bool:
    """Whether a container beside the program runs, or will: an injected container keeps the pod's resources in use."""
    if pod.status.phase in ("Succeeded", "Failed"):
        return False
    at_once = pod.deleting and pod.metadata.deletion_grace_period_seconds == 0
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    others = [each.state for each in statuses if each.name != labels.CONTAINER]
    return any(state.running is not None or (state.waiting is not None and not at_once) for state in others)


def is_outlived(pod: Pod) -> bool:
    """Whether the program has ended, but other containers keep the pod running until somebody deletes it.

    Sidecars that are init containers don't count: the kubelet ends them with the others.
    """
    others = [each.state for each in pod.status.container_statuses if each.name != labels.CONTAINER]
    goes_on = any(state.terminated is None for state in others)
    return container_state(pod).terminated is not None and goes_on and others_run(pod)


def is_collected(pod: Pod) -> bool:
    """Whether the pod garbage collector failed the pod, because its node is gone."""
    disruption = _disruption(pod)
    return pod.status.phase == "Failed" and disruption is not None and disruption.reason == "DeletionByPodGC"


def why_ended(pod: Pod, *, stopped_by_deletion: bool) -> Reason:
    """Find why a pod ended.

    Args:
        pod: The pod.
        stopped_by_deletion: Whether it had not ended yet when its deletion was requested.
    """
    terminated = container_state(pod).terminated
    said = pod.metadata.annotations.get(labels.ENDED_BECAUSE)
    if stopped_by_deletion and said in set(Reason):
        return Reason(said)
    disruption = _disruption(pod)
    ended_before = disruption is not None and terminated is not None and _is_before(terminated, disruption)
    by_pod = _by_pod(pod)
    if by_pod is not None and not ended_before:
        return by_pod
    if terminated is not None and terminated.reason == Reason.OOM_KILLED:
        return Reason.OOM_KILLED
    # A program that was asked to stop and exited with 0 has most likely not finished its work.
    by_itself = terminated is not None and terminated.exit_code == 0 and not stopped_by_deletion
    if disruption is not None and not ended_before and not by_itself:
        return _OF_DISRUPTION.get(disruption.reason, Reason.EVICTED)
    if terminated is not None and terminated.reason in _START_ERRORS:
        return Reason.START_ERROR
    if stopped_by_deletion:
        return Reason.DELETED
    if terminated is None or terminated.reason == UNKNOWN:
        return Reason.NODE_LOST
    return Reason.COMPLETED if terminated.exit_code == 0 else Reason.ERROR


def why_not_started(pod: Pod) -> tuple[Reason, str]:
    """Find why a pod has not started, as far as its status says, and the message about it."""
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

    A program without probes is ready as long as it runs. Only the node controller sets it to not ready, without a
    reason; for a container that is just ending, the kubelet does so with a reason.
    """
    ready = next((each for each in pod.status.conditions if each.type == "Ready"), None)
    if container_state(pod).running is None or ready is None or ready.status == "True":
        return None
    if ready.reason == "ContainersNotReady":
        return None
    return None if ready.last_transition_time is None else ready.last_transition_time.timestamp()


def is_failure(waiting: Waiting) -> bool:
    """Whether a container waits because a start failed, and not because a start is under way."""
    return waiting.reason in _OF_WAITING


def hopeless_after_seconds(pod: Pod) -> float | None:
    """How long after its creation to give up a pod that lacks something which will not appear by itself, seconds.

    None: the pod may still start.
    """
    waiting = container_state(pod).waiting
    if waiting is None:
        return None
    if waiting.reason == "InvalidImageName":
        return 0.0
    missing = waiting.reason in _OF_MISSING and any(words in waiting.message.lower() for words in _MISSING)
    return HOPELESS_SECONDS if missing or waiting.reason == "ErrImageNeverPull" else None


def exit_code(terminated: Terminated) -> int | None:
    """The program's exit code; a shell's exit code if it could not be started; None: unknown."""
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
    if said == "DeadlineExceeded" and state.waiting is not None and not vanished(pod):
        return why_not_started(pod)[0]  # the deadline passed before it could start
    if said == "Evicted" and any(words in pod.status.message for words in _OWN_FAULT):
        return Reason.ERROR
    if said.startswith(_NO_ROOM):
        return Reason.EVICTED
    found = _OF_POD.get(said)
    if found is None and state.terminated is None and state.running is None:
        return Reason.CREATE_CONTAINER_CONFIG_ERROR  # the node refuses such pods
    return found


def _is_before(terminated: Terminated, disruption: Condition) -> bool:
    ended_at, began_at = terminated.finished_at, disruption.last_transition_time
    return ended_at is not None and began_at is not None and ended_at < began_at


def _disruption(pod: Pod) -> Condition | None:
    targets = (each for each in pod.status.conditions if each.type == "DisruptionTarget" and each.status == "True")
    return next(targets, None)
