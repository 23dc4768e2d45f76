"""Creates the pod of an attempt, or adopts it if it exists: repeated calls result in exactly one pod.

In the flow: the saga's step under a grant. The pod's name is derived from the attempt, so there cannot be two. After a
lost answer, or if the name is taken, the pod of that name is read and adopted if it is this attempt's. The pod comes
first, then its script and its items. A process that dies in between leaves a pod that waits for its ConfigMap or
Secret, until a next call creates it (its name is in the pod) or the pending deadline passes. So no object is ever
orphaned. A refusal counts only if there is no pod: perhaps an earlier try succeeded, and used up the quota that this
try exceeded. After a failure that may have had its effect, the pod is looked for until the request must be over on the
server: then there is surely none.
"""

import time
from collections.abc import Callable
from typing import Final

from ...configs.areas import KubernetesSettings
from ...configs.logger import Logger
from ..errors import PodConflict, PodRejected, PodsUnavailable
from ..pods import PodSpec
from . import labels
from .client import ClusterApi
from .deleting import delete
from .faults import ApiError, Fault
from .items import items_of, items_secret
from .manifest import Json, pod_manifest, script_manifest, script_of
from .objects import Pod
from .outcome import Sight, look, started
from .patience import Patience

log = Logger(__name__)

#: How long a server that refuses may block the calling thread; the execution is tried again later.
CREATE_WITHIN_SECONDS: Final = 5.0
_LOOK_AGAIN_SECONDS: Final = 0.5
_REFUSALS: Final = (Fault.REJECTED, Fault.DENIED)


def create(
    api: ClusterApi, settings: KubernetesSettings, spec: PodSpec, is_wanted: Callable[[], bool] = lambda: True
) -> Sight:
    """Create the pod of an attempt with its script, or adopt it.

    Args:
        api: The cluster.
        settings: The settings of all pods.
        spec: The attempt.
        is_wanted: Called before each further try: an attempt that is over meanwhile must not get a pod.

    Raises:
        PodConflict: Something else has the name, or its pod is being deleted.
        PodRejected: The specification can never run.
        PodsUnavailable: Try again; ``pod_may_exist`` says whether there may be a pod.
    """
    patience = Patience(CREATE_WITHIN_SECONDS)
    sight = _create_pod(api, spec, pod_manifest(spec, settings), patience, is_wanted)
    if started(sight.pod):
        return sight
    if spec.script is not None:
        name = _named(spec, script_of(sight.pod))
        _create_beside(api, sight.pod, "configmaps", script_manifest(name, spec.script, sight.pod), patience)
    if spec.items_file is not None:
        name = _named(spec, items_of(sight.pod))
        _create_beside(api, sight.pod, "secrets", items_secret(name, spec.items_file, sight.pod), patience)
    return sight


def _create_pod(
    api: ClusterApi, spec: PodSpec, manifest: Json, patience: Patience, is_wanted: Callable[[], bool]
) -> Sight:
    installation = str(manifest["metadata"]["labels"][labels.INSTALLATION])
    #: Until when, on the monotonic clock, the server may still carry out a request that failed or got no answer.
    doubt_ends_at: float | None = None
    while True:
        try:
            return _ours(api.create_pod(manifest), spec, installation)
        except ApiError as error:
            failure = error
        taken = failure.fault is Fault.CONFLICT
        if failure.may_have_happened:
            doubt_ends_at = time.monotonic() + api.request_timeout_seconds
        if taken or doubt_ends_at is not None or failure.fault in _REFUSALS:
            may_exist = taken or doubt_ends_at is not None
            existing = _existing(api, spec.name, patience, may_exist=may_exist)
            if existing is not None:
                return _adopt(existing, spec, installation)
        if failure.fault is Fault.REJECTED:
            raise PodRejected(f"pod {spec.name}: {failure}") from failure
        if taken:
            # The other pod is gone again, or it is another conflict, such as two creations that use the same quota.
            failure = ApiError(Fault.BUSY, str(failure))
        if not (patience.wait(failure) and is_wanted()):
            late = None if doubt_ends_at is None else _look_until(api, spec.name, doubt_ends_at)
            if late is not None:
                return _adopt(late, spec, installation)
            raise PodsUnavailable(f"pod {spec.name} could not be created: {failure}", pod_may_exist=False)


def _look_until(api: ClusterApi, name: str, ends_at: float) -> Pod | None:
    """Look repeatedly for a pod that may still be created, for the last time after that moment."""
    while True:
        left_seconds = ends_at - time.monotonic()
        found = _existing(api, name, Patience(0), may_exist=True)
        if found is not None or left_seconds <= 0:
            return found
        time.sleep(min(_LOOK_AGAIN_SECONDS, left_seconds))


def _existing(api: ClusterApi, name: str, patience: Patience, *, may_exist: bool) -> Pod | None:
    while True:
        try:
            return api.get_pod(name)
        except ApiError as error:
            if not patience.wait(error):
                raise PodsUnavailable(
                    f"pod {name} could not be created, nor looked for: {error}", pod_may_exist=may_exist
                ) from error


def _adopt(pod: Pod, spec: PodSpec, installation: str) -> Sight:
    sight = _ours(pod, spec, installation)
    if pod.deleting:
        raise PodConflict(spec.name, "the pod of this attempt is being deleted")
    log.info("pod_adopted", execution_id=spec.execution_id, attempt=spec.attempt, pod=spec.name)
    return sight


def _ours(pod: Pod, spec: PodSpec, installation: str) -> Sight:
    sight = look(pod)
    if sight is None:
        raise PodConflict(spec.name, "a pod that is not Bandmaster's has its name")
    if not labels.is_of(pod.metadata.labels, installation):
        raise PodConflict(spec.name, "its name belongs to another installation in this namespace")
    status = sight.status
    if (status.execution_id, status.attempt) != (spec.execution_id, spec.attempt):
        raise PodConflict(spec.name, f"its name belongs to execution {status.execution_id} attempt {status.attempt}")
    return sight


def _named(spec: PodSpec, name: str | None) -> str:
    """The name that the pod has for what it needs."""
    if name is None:
        raise PodConflict(spec.name, "its pod runs something else")
    return name


def _create_beside(api: ClusterApi, pod: Pod, resource: str, manifest: Json, patience: Patience) -> None:
    """Create what a pod waits for: its script or its items. What it holds is in no error."""
    what = f"{manifest['kind']} of pod {pod.name}"
    while True:
        try:
            api.create_beside(resource, manifest)
            return
        except ApiError as error:
            if error.fault is Fault.CONFLICT:
                return  # an earlier try succeeded: nobody else knows the name
            if error.fault is Fault.REJECTED:
                delete(api, pod.name, pod.uid)
                raise PodRejected(f"the {what}: {error}") from error
            if error.fault in (Fault.DENIED, Fault.NOT_FOUND):
                delete(api, pod.name, pod.uid)  # others may correct the cause, but at an unknown time
            if not patience.wait(error):
                raise PodsUnavailable(f"the {what} is not there yet: {error}") from error
