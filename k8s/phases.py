"""The words for where a pod stands and why it ended, the same in every backend.

They are what ``watch_completions`` turns into ``execution_completed``, ``execution_failed`` and
``execution_timeout``. Standard library only, since the local supervisor writes them too.
"""

from enum import Enum, StrEnum


class PodPhase(Enum):
    """Where a pod stands. SUCCEEDED and FAILED never change again, and come with an outcome."""

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
    ERROR = "Error"  #: another exit code, or a signal that nobody here sent
    START_ERROR = "StartError"  #: the program could not be started: 127 not found, 126 not executable, as in a shell
    OOM_KILLED = "OOMKilled"  #: it wanted more memory than its limit
    DEADLINE_EXCEEDED = "DeadlineExceeded"  #: it ran longer than its timeout
    DELETED = "Deleted"  #: somebody deleted the pod
    EVICTED = "Evicted"  #: its node ran out of something
    PREEMPTED = "Preempted"  #: it made room for a more important pod
    NODE_LOST = "NodeLost"  #: its node, or locally its supervisor, went away; what it did is unknown
    IMAGE_PULL = "ImagePull"  #: its image cannot be had
    UNSCHEDULABLE = "Unschedulable"  #: no node fits within the pending deadline
    CREATE_CONTAINER_CONFIG_ERROR = "CreateContainerConfigError"  #: a script, secret or user that the node refused

    @property
    def infrastructure(self) -> bool:
        """Whether the program is not to blame, so that another attempt does not use up the user's tries."""
        return self in (Reason.EVICTED, Reason.PREEMPTED, Reason.NODE_LOST)
