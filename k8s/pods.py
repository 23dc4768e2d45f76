"""The interface to pods, and what passes through it: the same for a cluster and for this machine's own processes.

The saga's second half calls ``create``; ``watch_completions`` lives on ``watch``, ``get`` and ``acknowledge``;
cancelling and timeouts use ``delete``; ``bandmaster logs`` uses ``logs``. Everything about a pod is kept outside of
the calling process, so whoever dies, the next one finds all pods again, with their outcomes: an ended pod stays until
its result is stored and acknowledged (the analogue of a finalizer), and every call may simply be repeated.
"""

import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from .phases import PodPhase, Reason
from .spec import PodScript, PodSpec, pod_name

__all__ = [
    "ChangeKind",
    "PodChange",
    "PodOutcome",
    "PodPhase",
    "PodScript",
    "PodSpec",
    "PodStatus",
    "Pods",
    "Reason",
    "pod_name",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOutcome:
    """How a pod ended.

    Args:
        exit_code: None if a signal ended the program, or if it never ran, or if nobody saw its end.
        signal: The signal's number, if one ended the program.
        reason: Why it ended.
        started_at: When the program began, unix seconds; None: it never did.
        ended_at: When it ended (for a lost pod: when that was found out), unix seconds.
        duration_seconds: How long it ran, by a clock that is never set; 0 if it never began.
        output_tail: The last bytes of its output, bounded; undecodable bytes are replaced, control bytes are kept.
        output_truncated: Whether the program wrote more than ``output_tail`` holds.
    """

    exit_code: int | None
    signal: int | None
    reason: Reason
    started_at: float | None
    ended_at: float
    duration_seconds: float
    output_tail: str
    output_truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PodStatus:
    """A pod as it was seen.

    Args:
        name: From ``pod_name``.
        uid: Unique per created pod: a pod deleted and created again has the same name and another uid.
        execution_id: Whose attempt it is.
        attempt: Which one.
        phase: Where it stands.
        outcome: How it ended; None until then.
        created_at: Unix seconds.
        deleting: Its deletion was asked for; it is not gone as long as it is seen.
        acknowledged: Its outcome was stored; the pod may be collected at any time.
        discarded: We asked for its deletion ourselves, on a cluster.
    """

    name: str
    uid: str
    execution_id: str
    attempt: int
    phase: PodPhase
    outcome: PodOutcome | None
    created_at: float
    deleting: bool = False
    acknowledged: bool = False
    discarded: bool = False


class ChangeKind(Enum):
    """What a watch saw."""

    SEEN = "seen"  #: the pod exists: it is new, or changed, or was there when the watch began
    DELETED = "deleted"  #: the pod is gone, its processes too; the status is the last one that this watch saw


@dataclass(frozen=True, slots=True)
class PodChange:
    """One thing that a watch saw."""

    kind: ChangeKind
    status: PodStatus


class Pods(Protocol):
    """All pods of one installation. Safe to share between threads."""

    def create(self, spec: PodSpec, is_wanted: Callable[[], bool] = lambda: True) -> PodStatus:
        """Create the pod of an attempt, or adopt it if it exists: however often it is called, exactly one results.

        Args:
            spec: The attempt.
            is_wanted: Asked before the backend is asked once more in this call; False ends it as PodsUnavailable.

        Raises:
            PodConflict: The name is taken by something else, or its pod is being deleted, or is gone already.
            PodRejected: The specification can never run.
            PodsUnavailable: Try again; the pod may exist already.
        """
        ...

    def get(self, name: str) -> PodStatus | None:
        """Look at one pod. None: it does not exist, and nothing of it runs any more."""
        ...

    def attempts(self, execution_id: str) -> builtins.list[PodStatus]:
        """Look at all pods of one execution, in one call."""
        ...

    def waits_for(self, name: str) -> str:
        """What keeps a pod from its start, or from being gone, in the backend's words. Empty: nothing, or no pod."""
        ...

    def watch(self, window_seconds: float) -> Iterator[PodChange]:
        """See all pods (SEEN each), then every change, until the window is over.

        A pod that vanished between two watches is seen by neither: compare with what should be there.
        """
        ...

    def logs(self, name: str, *, follow: bool = False, tail_bytes: int | None = None) -> Iterator[bytes]:
        """Read a pod's output.

        Args:
            name: The pod.
            follow: Go on until it has ended.
            tail_bytes: Begin so many bytes before the present end; None: at the beginning.

        Raises:
            PodNotFound: There is no such pod; raised by the call itself, before anything is read.
        """
        ...

    def delete(self, name: str, *, uid: str | None = None) -> bool:
        """Ask for a pod's deletion, whether it runs or has ended; its outcome, acknowledged or not, goes with it.

        A program that runs gets TERM, a grace period, then KILL. It returns before that is over; ``get`` says None
        when it is.

        Args:
            name: The pod.
            uid: Only if it is this one.

        Returns:
            False if there is no such pod.
        """
        ...

    def acknowledge(self, name: str, uid: str) -> bool:
        """Say that the outcome is stored, so that the pod may be collected.

        Returns:
            False if there is no such pod, or it has not ended.
        """
        ...

    def ping(self) -> None:
        """Check that the backend answers.

        Raises:
            PodsUnavailable: It does not; the message says why.
        """
        ...

    def describe(self) -> str:
        """Name the backend in a few words, for ``bandmaster status``."""
        ...

    def list(self) -> list[PodStatus]:
        """Look at all pods, those being deleted and those acknowledged but not yet collected included."""
        ...
