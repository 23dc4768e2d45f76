"""Removes objects that are not needed any more: ended pods a while after their result was stored, orphaned ConfigMaps.

In the flow: every watch does this beside its work, each half minute, and again at once if a sweep had no time for all.
So pods are removed as fast as they end, at a rate that does not overload the API server. A script's ConfigMap is
deleted when its pod is acknowledged; if that fails, the cluster's garbage collector deletes it with its pod. The sweep
is for ConfigMaps of creations that were cut short. All deletions have the UID as precondition, so repeating them, also
from two processes, does no harm.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from ...configs.areas import KubernetesSettings
from ...configs.logger import Logger
from . import labels
from .client import ClusterApi
from .faults import ApiError, Fault
from .objects import Bare, Metadata

log = Logger(__name__)

_PODS_EVERY_SECONDS: Final = 30.0
_SCRIPTS_EVERY_SECONDS: Final = 300.0
#: A ConfigMap this young may belong to a pod that the list did not contain yet.
_YOUNG_SECONDS: Final = 120.0
#: The most deletions that one process has under way at once, and begins per second.
_AT_ONCE: Final = 4
_PER_SECOND: Final = 100
#: A sweep ends after this time; if objects are left, the next one follows at once.
_SWEEP_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of a sweep.

    Args:
        removed: The number of objects that it deleted itself.
        left: The number of objects that it had no time for.
    """

    removed: int
    left: int


_NOTHING: Final = Swept(0, 0)


class Cleanup:
    """The sweeps of one process."""

    def __init__(self, api: ClusterApi, settings: KubernetesSettings) -> None:
        self._api = api
        self._ttl_seconds = settings.pod_ttl_seconds
        self._sweeping = threading.Lock()
        self._installation = settings.installation
        self._pods_due = 0.0
        # Not at once: a process that just started has more urgent work.
        self._scripts_due = time.monotonic() + _PODS_EVERY_SECONDS

    def sweep(self) -> None:
        """Run the sweeps that are due, unless another thread does; if the cluster does not answer, retry later."""
        if not self._sweeping.acquire(blocking=False):
            return
        try:
            self._sweep()
        except ApiError as error:
            log.info("cleanup_put_off", error=str(error))
        finally:
            self._sweeping.release()

    def _sweep(self) -> None:
        now = time.monotonic()
        pods = scripts = _NOTHING
        if now >= self._pods_due:
            self._pods_due = now + min(_PODS_EVERY_SECONDS, max(1.0, self._ttl_seconds))
            pods = self.remove_settled()
            if pods.left:
                self._pods_due = now
        if now >= self._scripts_due:
            self._scripts_due = now + _SCRIPTS_EVERY_SECONDS
            scripts = self.remove_orphans()
            if scripts.left:
                self._scripts_due = now
        if pods.removed or scripts.removed:
            log.info("cleaned_up", pods=pods.removed, config_maps=scripts.removed, left=pods.left + scripts.left)

    def remove_settled(self) -> Swept:
        """Delete pods whose result was stored long enough ago."""
        pods = self._api.pods_metadata(labels.settled(self._installation))
        before = self._api.clock.now() - self._ttl_seconds
        outdated = (pod for pod in pods if pod.metadata.deletion_timestamp is None and _acknowledged_at(pod) <= before)
        return _remove(self._api.delete_pod, [pod.metadata for pod in outdated])

    def remove_orphans(self) -> Swept:
        """Delete the ConfigMaps of scripts whose pod is gone."""
        # List ConfigMaps first: each one's pod was created before it, so the later list of pods contains that pod.
        scripts = self._api.config_maps_metadata(labels.of(self._installation))
        pods = {pod.metadata.uid for pod in self._api.pods_metadata(labels.of(self._installation))}
        before = self._api.clock.now() - _YOUNG_SECONDS
        orphans = [
            script.metadata
            for script in scripts
            if not any(owner.uid in pods for owner in script.metadata.owner_references)
            and script.metadata.creation_timestamp.timestamp() < before
        ]
        return _remove(self._api.delete_config_map, orphans)


def _remove(delete: Callable[[str, str], bool], found: list[Metadata]) -> Swept:
    """Delete the found objects, several at once, until all are deleted or the time is over.

    Raises:
        ApiError: The first one; deletions that had not begun are left for the next sweep.
    """
    until = time.monotonic() + _SWEEP_SECONDS
    waiting = deque(found)
    removed: list[bool] = []

    def work() -> None:
        while waiting and time.monotonic() < until:
            began = time.monotonic()
            try:
                removed.append(_deleted(delete, waiting.popleft()))
            except IndexError:
                return  # another thread took the last one
            except ApiError:
                waiting.clear()
                raise
            time.sleep(max(0.0, _AT_ONCE / _PER_SECOND - (time.monotonic() - began)))

    with ThreadPoolExecutor(_AT_ONCE, "cleanup") as pool:
        for done in [pool.submit(work) for _ in range(min(_AT_ONCE, len(found)))]:
            done.result()
    return Swept(sum(removed), len(waiting))


def _deleted(delete: Callable[[str, str], bool], metadata: Metadata) -> bool:
    try:
        return delete(metadata.name, metadata.uid)
    except ApiError as error:
        if error.fault is Fault.CONFLICT:
            return False  # somebody else deleted the object, and its name is in use again
        raise


def _acknowledged_at(pod: Bare) -> float:
    try:
        return float(pod.metadata.annotations.get(labels.ACKNOWLEDGED_AT, "0"))
    except ValueError:
        return 0.0
