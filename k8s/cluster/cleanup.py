"""Removes what nobody needs any more: ended pods some time after their result was stored, and ConfigMaps without a pod.

In the flow: every watch does this beside its work, a process at most every half minute. The cluster's own collector
removes a ConfigMap with its pod; the sweep is for clusters where it lags or a creation was cut short. All deletions
have the UID as precondition, so doing it twice, or from two processes, does no harm.
"""

import threading
import time
from collections.abc import Callable
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
#: A script this young may belong to a pod that the list did not show yet.
_YOUNG_SECONDS: Final = 120.0
#: At one time, so that a backlog does not keep the API server busy.
_AT_MOST: Final = 200


class Cleanup:
    """The sweeps of one process."""

    def __init__(self, api: ClusterApi, settings: KubernetesSettings) -> None:
        self._api = api
        self._ttl_seconds = settings.pod_ttl_seconds
        self._lock = threading.Lock()
        self._pods_due = 0.0
        # Not at once: a process that just began has better things to do.
        self._scripts_due = time.monotonic() + _PODS_EVERY_SECONDS

    def sweep(self) -> None:
        """Do what is due; another time if the cluster does not answer."""
        now = time.monotonic()
        with self._lock:
            pods, scripts = now >= self._pods_due, now >= self._scripts_due
            if pods:
                self._pods_due = now + min(_PODS_EVERY_SECONDS, max(1.0, self._ttl_seconds))
            if scripts:
                self._scripts_due = now + _SCRIPTS_EVERY_SECONDS
        try:
            removed = (self.remove_settled() if pods else 0, self.remove_orphans() if scripts else 0)
        except ApiError as error:
            log.info("cleanup_put_off", error=str(error))
            return
        if any(removed):
            log.info("cleaned_up", pods=removed[0], config_maps=removed[1])

    def remove_settled(self) -> int:
        """Delete pods whose result was stored long enough ago."""
        before = self._api.clock.now() - self._ttl_seconds
        removed = 0
        for pod in self._api.pods_metadata(labels.SETTLED):
            metadata = pod.metadata
            if metadata.deletion_timestamp is None and _acknowledged_at(pod) <= before and removed < _AT_MOST:
                removed += _deleted(self._api.delete_pod, metadata)
        return removed

    def remove_orphans(self) -> int:
        """Delete scripts whose pod is gone."""
        # The scripts first: the pod of each was created before it.
        scripts = self._api.config_maps_metadata(labels.ALL)
        pods = {pod.metadata.uid for pod in self._api.pods_metadata(labels.ALL)}
        before = self._api.clock.now() - _YOUNG_SECONDS
        removed = 0
        for script in scripts:
            metadata = script.metadata
            owned = any(owner.uid in pods for owner in metadata.owner_references)
            if not owned and metadata.creation_timestamp.timestamp() < before and removed < _AT_MOST:
                removed += _deleted(self._api.delete_config_map, metadata)
        return removed


def _deleted(delete: Callable[[str, str], bool], metadata: Metadata) -> bool:
    try:
        return delete(metadata.name, metadata.uid)
    except ApiError as error:
        if error.fault is Fault.CONFLICT:
            return False  # somebody else deleted it, and the name is in use again
        raise


def _acknowledged_at(pod: Bare) -> float:
    try:
        return float(pod.metadata.annotations.get(labels.ACKNOWLEDGED_AT, "0"))
    except ValueError:
        return 0.0
