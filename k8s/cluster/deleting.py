"""Lets go of pods: acknowledges an end, deletes on demand, gives up what nothing more can be expected of.

In the flow: the lifecycle actors acknowledge once the result is stored, which takes the finalizer off; cancelling and
timeouts delete, always with the UID as precondition; the watch gives up pods that are overdue. Every change is one call
that may be repeated. The order is chosen for a death in between: what says why a pod ends is written before it is
deleted, and what gives up its outcome after.
"""

import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import structlog

from . import labels
from .client import ClusterApi
from .faults import ApiError, Fault
from .objects import Pod
from .outcome import look, started
from .overdue import Overdue
from .patience import patiently

log = structlog.get_logger(__name__)
T = TypeVar("T")

CHANGE_WITHIN_SECONDS: Final = 10.0


def acknowledge(api: ClusterApi, name: str, uid: str) -> bool:
    """Take the finalizer off an ended pod. False: there is no such pod, or it has not ended."""
    pod = patiently(CHANGE_WITHIN_SECONDS, lambda: api.get_pod(name))
    sight = look(pod) if pod is not None and pod.uid == uid else None
    if sight is None or sight.status.outcome is None:
        return False
    if sight.status.acknowledged:
        return True
    change = _release(uid)
    change["metadata"]["labels"] = {labels.ACKNOWLEDGED: "true"}
    change["metadata"]["annotations"] = {labels.ACKNOWLEDGED_AT: f"{time.time():.3f}"}
    return _change(api, name, change) is not None


def delete(api: ClusterApi, name: str, uid: str | None, stopping: Callable[[Pod], None] = lambda pod: None) -> bool:
    """Ask for a pod's deletion; its outcome goes with it.

    Args:
        api: The cluster.
        name: The pod.
        uid: Only if it is this one.
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
    """Delete a pod that nothing more can be expected of, saying why first."""
    keeps_its_reason = pod.deleting and labels.ENDED_BECAUSE in pod.metadata.annotations and not started(pod)
    if not keeps_its_reason:
        annotations = {labels.ENDED_BECAUSE: due.reason.value, labels.ENDED_MESSAGE: due.message}
        if _change(api, pod.name, {"metadata": {"uid": pod.uid, "annotations": annotations}}) is None:
            return
    _delete(api, pod.name, pod.uid, grace_seconds=0 if due.force else None)
    log.warning("pod_given_up", pod=pod.name, uid=pod.uid, reason=due.reason.value)


def release_finalizer(api: ClusterApi, pod: Pod) -> None:
    """Let an ended pod go whose outcome nobody needs."""
    _change(api, pod.name, _release(pod.uid))


def _give_up_outcome(api: ClusterApi, pod: Pod) -> None:
    sight = look(pod)
    if sight is not None and sight.status.outcome is None:
        # It still runs. Whoever watches may store its end, and in any case lets it go then.
        _change(api, pod.name, {"metadata": {"uid": pod.uid, "annotations": {labels.DISCARDED: "true"}}})
    else:
        release_finalizer(api, pod)


def _release(uid: str) -> dict[str, Any]:
    return {"metadata": {"uid": uid, "$deleteFromPrimitiveList/finalizers": [labels.FINALIZER]}}


def _change(api: ClusterApi, name: str, change: dict[str, Any]) -> Pod | None:
    """Patch a pod. None: the pod with that UID is gone."""
    try:
        return patiently(CHANGE_WITHIN_SECONDS, lambda: _or_busy(lambda: api.patch_pod(name, change)))
    except ApiError as error:
        if _is_another(error):
            return None
        raise


def _delete(api: ClusterApi, name: str, uid: str | None, *, grace_seconds: int | None = None) -> bool:
    try:
        return patiently(
            CHANGE_WITHIN_SECONDS, lambda: _or_busy(lambda: api.delete_pod(name, uid, grace_seconds=grace_seconds))
        )
    except ApiError as error:
        if _is_another(error):
            return False
        raise


def _or_busy(call: Callable[[], T]) -> T:
    """Somebody else changed the object at the same moment: that passes."""
    try:
        return call()
    except ApiError as error:
        if error.fault is Fault.CONFLICT and not _is_another(error):
            raise ApiError(Fault.BUSY, str(error)) from error
        raise


def _is_another(error: ApiError) -> bool:
    """Whether the name belongs to a pod with another UID; releases differ in how they say so. Names are lower case."""
    return error.fault in (Fault.CONFLICT, Fault.REJECTED) and any(
        word in str(error) for word in ("UID", "metadata.uid")
    )
