"""The errors of pods: one exception tree, so that no backend's own exceptions leave this package.

::

    PodError                 a BandmasterError
    ├── PodConflict          the name is taken by another pod, or by one that is being deleted
    ├── PodNotFound          there is no such pod (any more)
    ├── PodRejected          this specification can never run; permanent, a retry changes nothing
    ├── PodsUnavailable      the backend does not answer or is out of room; transient, try again
    ├── PodsForbidden        this process may not read pods; a retry changes nothing until somebody else lets it
    ├── PodDoubtful          the process has to stop before it could find out whether there is a pod
    ├── BackendNotAvailable  the settings ask for a backend that is not installed here
    └── PodsElsewhere        other workers of the queue have another folder or namespace

Creating is the only step of the saga that raises them all. If the process dies between an error and its handling,
nothing is lost: either a pod exists under its name and can be adopted, or there is none.
"""

from ..scheduler.model.errors import BandmasterError


class PodError(BandmasterError):
    """Something about a pod failed."""


class PodConflict(PodError):
    """The name is taken by another pod, or by one that is being deleted: wait until it is gone, or take another."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"pod {name!r} cannot be created: {why}")
        self.name = name


class PodNotFound(PodError):
    """There is no such pod, or it is gone by now."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no pod {name!r}")
        self.name = name


class PodRejected(PodError):
    """The specification can never run, however often it is tried; the message names the field and its value.

    Args:
        message: What is wrong.
        field: The field of an event that it is about; None if it is about several.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class PodsUnavailable(PodError):
    """The backend does not answer or is out of room. A pod may exist nevertheless: create it again to find out.

    Args:
        message: What happened.
        pod_may_exist: False if it is certain that creating had no effect, so that the slot may be given back.
    """

    def __init__(self, message: str, *, pod_may_exist: bool = True) -> None:
        super().__init__(message)
        self.pod_may_exist = pod_may_exist


class PodsForbidden(PodError):
    """This process may not read what pods print, or has no access to their cluster; only operators can change that."""


class PodDoubtful(PodError):
    """The process stops without knowing whether there is a pod: it can keep no grant, but must not free the slot."""

    def __init__(self, name: str) -> None:
        super().__init__(f"it is not known whether there is a pod {name!r}")
        self.name = name


class BackendNotAvailable(PodError):
    """The settings ask for a backend that this version or this installation does not have."""


class PodsElsewhere(PodError):
    """Workers of the same queue keep to another place of pods: another folder, or another namespace."""

    def __init__(self, prefix: str, *, own: str, other: str) -> None:
        super().__init__(
            f"other workers of the queue {prefix!r} run its pods elsewhere: {other}; here they would be {own}. "
            f"Give all workers of a queue the same paths.var_dir or k8s.namespace, or this installation "
            f"another redis.dramatiq_namespace"
        )
