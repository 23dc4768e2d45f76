"""Implements the pod interface on a Kubernetes cluster. All state is in the cluster.

In the flow: `backend.py` opens it if the settings name it; actors create, watch, acknowledge and delete through it. Any
number of processes may use the same namespace at once, and each may die at any time. Several installations may share a
namespace too: each ignores pods that carry another installation's name.
"""

import builtins
from collections.abc import Callable, Iterator
from typing import Final

from ...configs.areas import KubernetesSettings
from ..output import Closing, Piece
from ..pods import PodChange, PodSpec, PodStatus
from . import labels
from .cleanup import Cleanup
from .client import ClusterApi
from .create import create
from .deleting import acknowledge, delete
from .faults import ApiError
from .logs import read_log
from .manifest import check_settings
from .news import read_news, unsaid
from .objects import Pod
from .outcome import look, started
from .patience import patiently
from .reasons import why_not_started
from .stream import Past
from .tails import Tails
from .watching import Watching

_READ_WITHIN_SECONDS: Final = 10.0


class ClusterPods:
    """Pods in one namespace of a cluster. Nothing is connected before the first call.

    Args:
        settings: The cluster, its namespace and the settings of all pods.

    Raises:
        BackendNotAvailable: If the namespace is one that is refused.
    """

    def __init__(self, settings: KubernetesSettings) -> None:
        check_settings(settings)
        self._settings = settings
        self._api = ClusterApi(settings)
        self._tails = Tails(self._api)
        self._cleanup = Cleanup(self._api, settings)
        self._past: Past | None = None

    def create(self, spec: PodSpec, is_wanted: Callable[[], bool] = lambda: True) -> PodStatus:
        """See ``Pods.create``."""
        return self._tails.complete(create(self._api, self._settings, spec, is_wanted))

    def get(self, name: str) -> PodStatus | None:
        """See ``Pods.get``."""
        pod = patiently(_READ_WITHIN_SECONDS, lambda: self._api.get_pod(name))
        # A caller that reads one pod may have lost its stored outcome.
        return None if pod is None else self._status(pod, stored_too=True)

    def attempts(self, execution_id: str) -> builtins.list[PodStatus]:
        """See ``Pods.attempts``."""
        selector = f"{labels.ALL},{labels.EXECUTION}={labels.label_value(execution_id)}"
        return [status for status in self._statuses(selector) if status.execution_id == execution_id]

    def last_words(self, name: str, uid: str) -> PodStatus | None:
        """See ``Pods.last_words``. None: here a deleted pod stays until its end was reported, for some seconds."""
        return None

    def waits_for(self, name: str) -> str:
        """See ``Pods.waits_for``."""
        pod = patiently(_READ_WITHIN_SECONDS, lambda: self._api.get_pod(name))
        sight = None if pod is None or not self._is_ours(pod) else look(pod)
        if pod is None or sight is None or (sight.certain and sight.status.outcome is not None):
            return ""
        if pod.deleting and pod.spec.node_name:
            return f"node {pod.spec.node_name} has to confirm that nothing of it runs any more"
        if started(pod):
            return ""
        words = why_not_started(pod)[1]
        return f"{words} {unsaid(pod, read_news(self._api, pod.uid) or [])}".strip()

    def watch(self, window_seconds: float) -> Iterator[PodChange]:
        """See ``Pods.watch``. Pods whose result is stored are not reported; storing it is reported as the pod's end."""
        watching = Watching(self._api, self._settings, self._tails, self._cleanup)
        past, self._past = self._past, None  # a simultaneous second watch begins with a list of its own
        try:
            yield from watching.changes(window_seconds, past)
        finally:
            self._past = watching.past

    def logs(self, name: str, *, follow: bool = False, tail_bytes: int | None = None) -> Iterator[bytes]:
        """See ``Pods.logs``."""
        pieces = read_log(self._api, name, Closing(), follow=follow, tail_bytes=tail_bytes)
        return (piece.data for piece in pieces)

    def follow(
        self, name: str, closing: Closing, *, after: int | None = None, tail_bytes: int | None = None
    ) -> Iterator[Piece]:
        """See ``Pods.follow``."""
        return read_log(self._api, name, closing, follow=True, after=after, tail_bytes=tail_bytes)

    def delete(self, name: str, *, uid: str | None = None) -> bool:
        """See ``Pods.delete``."""
        if uid is None:
            found = patiently(_READ_WITHIN_SECONDS, lambda: self._api.get_pod(name))
            if found is None or not self._is_ours(found):
                return False
            uid = found.uid
        return delete(self._api, name, uid, self._tails.accompany_beside)

    def acknowledge(self, name: str, uid: str) -> bool:
        """See ``Pods.acknowledge``."""
        return acknowledge(self._api, name, uid)

    def ping(self) -> None:
        """See ``Pods.ping``."""
        self._api.probe()

    def place(self) -> str:
        """See ``Pods.place``."""
        return f"kubernetes/{self._settings.namespace}"

    def describe(self) -> str:
        """See ``Pods.describe``."""
        try:
            return f"Kubernetes at {self._api.server()}, namespace {self._settings.namespace}"
        except ApiError as error:
            return f"Kubernetes, namespace {self._settings.namespace} ({error})"

    def list(self) -> list[PodStatus]:
        """See ``Pods.list``."""
        return self._statuses(labels.ALL)

    def _statuses(self, selector: str) -> builtins.list[PodStatus]:
        pods, _ = patiently(_READ_WITHIN_SECONDS, lambda: self._api.list_pods(selector))
        return [status for pod in pods if (status := self._status(pod)) is not None]

    def _status(self, pod: Pod, *, stored_too: bool = False) -> PodStatus | None:
        sight = look(pod) if self._is_ours(pod) else None
        return None if sight is None else self._tails.complete(sight, stored_too=stored_too)

    def _is_ours(self, pod: Pod) -> bool:
        return labels.is_of(pod.metadata.labels, self._settings.installation)
