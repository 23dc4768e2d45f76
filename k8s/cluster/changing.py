"""Patches pods: each change is made once, on the pod with the given UID, even while others change it.

In the flow: acknowledging and deleting use this. Every change may be repeated; if the process dies in between, the next
watch sees the pod as it is and begins anew.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from . import labels
from .client import ClusterApi, Operation
from .faults import ApiError, Fault
from .objects import Pod
from .patience import patiently

T = TypeVar("T")

CHANGE_WITHIN_SECONDS: Final = 10.0
_READ_ANEW: Final = 5
"""How often a pod is read at most, if its metadata changes while its finalizer is removed."""


def let_go(
    api: ClusterApi, name: str, uid: str, further: Callable[[Pod], list[Operation] | None] = lambda pod: []
) -> bool:
    """Remove our finalizer from a pod, if it is there.

    This uses operations with a test that the list of finalizers is still as it was read (RFC 6902). In old releases
    (seen in 1.20), a strategic merge that should delete an entry adds it, if the list has become empty meanwhile.

    Args:
        api: The cluster.
        name: The pod.
        uid: Change only the pod with this UID.
        further: Returns further changes to make with it; None: the pod has to keep its finalizer.

    Returns:
        False if there is no such pod, or it has to keep its finalizer.

    Raises:
        ApiError: If the cluster did not answer, or rejected the change for good.
    """
    tries = _READ_ANEW
    while True:
        pod = patiently(CHANGE_WITHIN_SECONDS, lambda: api.get_pod(name))
        changes = further(pod) if pod is not None and pod.uid == uid else None
        if pod is None or changes is None:
            return False
        operations = _without_finalizer(pod) + changes
        if not operations:
            return True
        try:
            return change_pod(api, name, [_test("/metadata/uid", uid), *operations]) is not None
        except ApiError as error:
            # Perhaps a test failed, because the pod changed meanwhile; the server does not say so.
            tries -= 1
            if error.fault is not Fault.REJECTED or not tries:
                raise


def change_pod(api: ClusterApi, name: str, change: dict[str, Any] | list[Operation]) -> Pod | None:
    """Patch a pod, with retries. None: the pod with that UID is gone."""
    try:
        return patiently(CHANGE_WITHIN_SECONDS, lambda: or_busy(lambda: api.patch_pod(name, change)))
    except ApiError as error:
        if is_another(error):
            return None
        raise


def add(area: str, name: str, value: str) -> Operation:
    """The operation that sets a label or an annotation."""
    return {"op": "add", "path": f"/metadata/{area}/{name.replace('~', '~0').replace('/', '~1')}", "value": value}


def or_busy(call: Callable[[], T]) -> T:
    """Turn the conflict of two simultaneous changes into BUSY, which is retried."""
    try:
        return call()
    except ApiError as error:
        if error.fault is Fault.CONFLICT and not is_another(error):
            raise ApiError(Fault.BUSY, str(error)) from error
        raise


def is_another(error: ApiError) -> bool:
    """Whether the name belongs to a pod with another UID. Releases word this differently; names are lower case."""
    return error.fault in (Fault.CONFLICT, Fault.REJECTED) and any(
        word in str(error) for word in ("UID", "metadata.uid")
    )


def _without_finalizer(pod: Pod) -> list[Operation]:
    if labels.FINALIZER not in pod.metadata.finalizers:
        return []
    path = f"/metadata/finalizers/{pod.metadata.finalizers.index(labels.FINALIZER)}"
    return [_test(path, labels.FINALIZER), {"op": "remove", "path": path}]


def _test(path: str, value: str) -> Operation:
    return {"op": "test", "path": path, "value": value}
