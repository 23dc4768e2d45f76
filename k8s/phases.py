"""The phases of a pod and the reasons of its end, the same in every backend.

``watch_completions`` turns them into ``execution_completed``, ``execution_failed`` and ``execution_timeout``.
Standard library only, since the local supervisor writes them too.
"""

from enum import Enum, StrEnum


class PodPhase(Enum):
    """A pod's phase. SUCCEEDED and FAILED are final, and come with an outcome."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"

    @property
    def ended(self) -> bool:
        """Whether nothing of the pod runs any more."""
        return self in (PodPhase.SUCCEEDED, PodPhase.FAILED)


class Reason(StrEnum):
    """Why a pod ended."""

    COMPLETED = "Completed"  #: exit code 0
    ERROR = "Error"  #: another exit code, or a signal that Bandmaster did not send
    START_ERROR = "StartError"  #: the program could not be started: 127 not found, 126 not executable, as in a shell
    OOM_KILLED = "OOMKilled"  #: it needed more memory than its limit
    DEADLINE_EXCEEDED = "DeadlineExceeded"  #: it ran longer than its timeout
    DELETED = "Deleted"  #: somebody deleted the pod
    EVICTED = "Evicted"  #: its node ran out of something
    PREEMPTED = "Preempted"  #: it made room for a more important pod
    NODE_LOST = "NodeLost"  #: its node, or locally its supervisor, went away; what it did is unknown
    IMAGE_PULL = "ImagePull"  #: its image cannot be pulled
    UNSCHEDULABLE = "Unschedulable"  #: no node fits within the pending deadline
    CREATE_CONTAINER_CONFIG_ERROR = "CreateContainerConfigError"  #: a script, secret or user that the node refused

    @property
    def infrastructure(self) -> bool:
        """Whether the program is not to blame, so that another attempt does not use up the user's tries."""
        return self in (Reason.EVICTED, Reason.PREEMPTED, Reason.NODE_LOST)
