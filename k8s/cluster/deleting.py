"""Acknowledges ended pods, deletes pods on request, and gives up overdue ones.

In the flow: the lifecycle actors acknowledge once the result is stored, which removes the finalizer; cancelling and
timeouts delete, always with the UID as precondition; the watch gives up overdue pods. Every change is one call that may
be repeated. The order is safe if the process dies in between: the reason of a pod's end is written before its deletion,
and its outcome is given up after it.
"""

from collections.abc import Callable

from ...configs.logger import Logger
from ..phases import Reason
from . import labels
from .changing import CHANGE_WITHIN_SECONDS, add, change_pod, is_another, let_go, or_busy
from .client import ClusterApi, Operation
from .clock import ClusterClock
from .faults import ApiError
from .manifest import script_of
from .news import is_pulling, read_news, unsaid
from .objects import Pod
from .outcome import look, started
from .overdue import Overdue
from .patience import patiently

log = Logger(__name__)


def acknowledge(api: ClusterApi, name: str, uid: str) -> bool:
    """Remove an ended pod's finalizer and its script. False: there is no such pod, or it has not ended."""
    scripts = set[str]()

    def acknowledgement(pod: Pod) -> list[Operation] | None:
        if (script := script_of(pod)) is not None:
            scripts.add(script)
        # The pod was read by an API call, so the cluster's time is known by now.
        return _acknowledgement(pod, api.clock)

    if not let_go(api, name, uid, acknowledgement):
        return False
    for script in scripts:
        _remove_script(api, script)
    return True


def delete(api: ClusterApi, name: str, uid: str | None, stopping: Callable[[Pod], None] = lambda pod: None) -> bool:
    """Request a pod's deletion; its outcome is lost.

    Args:
        api: The cluster.
        name: The pod.
        uid: Delete only the pod with this UID.
        stopping: Called if its program has to stop now.

    Returns:
        False if there is no such pod.
    """
    if not _delete(api, name, uid):
        return False
    pod = patiently(CHANGE_WITHIN_SECONDS, lambda: api.get_pod(name))
    if pod is not None and pod.deleting and labels.FINALIZER in pod.metadata.finalizers:
        if started(pod):
            stopping(pod)
        _give_up_outcome(api, pod)
    return True


def give_up(api: ClusterApi, pod: Pod, due: Overdue) -> None:
    """Delete an overdue pod after writing the reason on it; or set its deadline to its program's remaining time."""
    if due.deadline_seconds is not None:
        change = {"metadata": {"uid": pod.uid}, "spec": {"activeDeadlineSeconds": due.deadline_seconds}}
        if change_pod(api, pod.name, change) is not None:
            log.info("pod_deadline_set", pod=pod.name, uid=pod.uid, deadline_seconds=due.deadline_seconds)
        return
    reason, message = due.reason, due.message
    if not started(pod):
        news = read_news(api, pod.uid) or []
        reason = Reason.IMAGE_PULL if is_pulling(news) else reason
        message = f"{message} {unsaid(pod, news)}".strip()
    if _delete_as(api, pod, {labels.ENDED_BECAUSE: reason.value, labels.ENDED_MESSAGE: message}):
        log.warning("pod_given_up", pod=pod.name, uid=pod.uid, reason=reason.value)


def end_others(api: ClusterApi, pod: Pod) -> None:
    """Delete a pod whose program has ended while other containers run on, after noting that it had ended by itself."""
    if _delete_as(api, pod, {labels.OUTLIVED: "true"}):
        log.info("pod_outlived_its_program", pod=pod.name, uid=pod.uid)


def release_finalizer(api: ClusterApi, pod: Pod) -> None:
    """Remove the finalizer of an ended pod whose outcome is not needed."""
    let_go(api, pod.name, pod.uid)


def _give_up_outcome(api: ClusterApi, pod: Pod) -> None:
    sight = look(pod)
    if sight is not None and sight.status.outcome is None:
        # It still runs. The watch may store its end, and removes its finalizer then in any case.
        change_pod(api, pod.name, {"metadata": {"uid": pod.uid, "annotations": {labels.DISCARDED: "true"}}})
    else:
        release_finalizer(api, pod)


def _remove_script(api: ClusterApi, name: str) -> None:
    """Remove a script that is not read any more, though its pod is kept for its log: etcd has little space."""
    try:
        api.delete_config_map(name)  # nobody else knows this name
    except ApiError as error:
        log.info("script_left", config_map=name, error=str(error))  # it is deleted with its pod


def _acknowledgement(pod: Pod, clock: ClusterClock) -> list[Operation] | None:
    if labels.ACKNOWLEDGED in pod.metadata.labels:
        return []
    sight = look(pod)
    if sight is None or sight.status.outcome is None:
        return None
    return [
        add("labels", labels.ACKNOWLEDGED, "true"),
        add("annotations", labels.ACKNOWLEDGED_AT, f"{clock.now():.3f}"),
    ]


def _delete_as(api: ClusterApi, pod: Pod, annotations: dict[str, str]) -> bool:
    if change_pod(api, pod.name, {"metadata": {"uid": pod.uid, "annotations": annotations}}) is None:
        return False
    return _delete(api, pod.name, pod.uid)


def _delete(api: ClusterApi, name: str, uid: str | None) -> bool:
    try:
        return patiently(CHANGE_WITHIN_SECONDS, lambda: or_busy(lambda: api.delete_pod(name, uid)))
    except ApiError as error:
        if is_another(error):
            return False
        raise
