"""Chooses what stands behind the pod interface, by the name that the settings give.

Called once per process: by the actors when a worker starts, and by commands. Nothing is started or connected here; the
backend that answers is asked with ``ping``.
"""

from pathlib import Path

from .errors import BackendNotAvailable
from .local.launching import LocalLimits
from .local.pods import LocalPods
from .pods import Pods

BACKENDS = ("local", "kubernetes")


def connect(backend: str, *, root: Path, limits: LocalLimits | None = None) -> Pods:
    """Get the pods of a backend.

    Args:
        backend: ``local``: child processes of this machine.
        root: The local backend's folder; its pods live in ``pods`` below it.
        limits: What holds for every local pod; None: the defaults.

    Raises:
        BackendNotAvailable: If this version has not got it.
    """
    if backend == "local":
        return LocalPods(root, limits)
    if backend == "kubernetes":
        raise BackendNotAvailable("the backend 'kubernetes' is not available in this version; use 'local'")
    raise BackendNotAvailable(f"backend {backend!r} is unknown; there are: {', '.join(BACKENDS)}")
