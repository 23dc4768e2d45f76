"""Chooses the implementation of the pod interface, the backend, by its name in the settings.

Called once per process: by the actors when a worker starts, and by commands. Nothing is started or connected here;
``ping`` checks later whether the backend answers.

The cluster's package is imported by name, only when the settings choose it. It imports the ``kubernetes`` client,
which costs 0.4 s and 33 MB in every process, and most processes of a local installation have no use for it. That
client comes with the extra `k8s`.
"""

from pathlib import Path
from typing import Any, Final

from ..configs.areas import KubernetesSettings
from ..configs.errors import ExtraMissing
from ..configs.extras import import_extra
from ..configs.local import LocalSettings
from .errors import BackendNotAvailable
from .local.limits import limits_of
from .local.pods import LocalPods
from .pods import Pods

BACKENDS: Final = ("local", "kubernetes")
_CLUSTER: Final = f"{__package__}.cluster.pods"


def connect(
    backend: str, *, root: Path, local: LocalSettings | None = None, cluster: KubernetesSettings | None = None
) -> Pods:
    """Get the pods of a backend.

    Args:
        backend: ``local``: child processes of this machine. ``kubernetes``: pods on a cluster.
        root: The local backend's folder; its pods live in ``pods`` below it.
        local: The settings of all local pods; None: the defaults.
        cluster: The cluster, its namespace and the settings of all pods there; needed for ``kubernetes``.

    Raises:
        BackendNotAvailable: If no backend has that name, its extra is not installed, or its settings are missing, are
            refused, or ask for more than this machine can give.
    """
    if backend == "local":
        return LocalPods(root, limits_of(local or LocalSettings(), root))
    if backend != "kubernetes":
        raise BackendNotAvailable(f"backend {backend!r} is unknown; there are: {', '.join(BACKENDS)}")
    if cluster is None:
        raise BackendNotAvailable(f"backend {backend!r} needs the settings of its cluster")
    return _open_cluster(cluster)


def _open_cluster(settings: KubernetesSettings) -> Pods:
    try:
        module: Any = import_extra(_CLUSTER, "k8s")
    except ExtraMissing as error:
        raise BackendNotAvailable(f"backend 'kubernetes' cannot be used: {error}") from error
    pods: Pods = module.ClusterPods(settings)
    return pods
