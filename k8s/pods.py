"""The interface to pods and its data types: the same for a cluster and for this machine's own processes.

The saga's second half calls ``create``; ``watch_completions`` uses ``watch``, ``get`` and ``acknowledge``;
cancelling and timeouts use ``delete``; ``bandmaster logs`` uses ``logs``, the API ``follow``. All state of a pod is
outside of the calling process. If that process dies, the next one finds all pods again, with their outcomes: an ended
pod stays until its result is stored and acknowledged (like an object with a finalizer). Every call may simply be
repeated.
"""

import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ..scheduler.model.trace_context import TraceContext
from .output import Closing, Piece
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
        exit_code: None if a signal ended the program, it never ran, or nobody saw its end.
        signal: The signal's number, if one ended the program.
        reason: Why it ended.
        started_at: When the program began, unix seconds; None: it never did.
        ended_at: When it ended (for a lost pod: when the loss was noticed), unix seconds.
        duration_seconds: How long it ran; 0 if it never began.
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
    """A pod as it was when it was read.

    Args:
        name: From ``pod_name``.
        uid: Unique per created pod: a pod deleted and created again has the same name and another uid.
        execution_id: The execution that it belongs to.
        attempt: The number of the attempt.
        phase: Its phase.
        outcome: How it ended; None until then.
        created_at: Unix seconds.
        deleting: Its deletion was requested, but it still exists.
        acknowledged: Its outcome was stored; the pod may be collected at any time.
        discarded: We requested its deletion ourselves, on a cluster.
        trace: The span of the attempt that created it, if that was traced.
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
    trace: TraceContext | None = None


class ChangeKind(Enum):
    """What a watch saw."""

    SEEN = "seen"  #: the pod exists: it is new, has changed, or was there when the watch began
    DELETED = "deleted"  #: the pod is gone, its processes too; the status is the last one that this watch saw


@dataclass(frozen=True, slots=True)
class PodChange:
    """One change that a watch saw."""

    kind: ChangeKind
    status: PodStatus


class Pods(Protocol):
    """All pods of one installation. Safe to share between threads."""

    def create(self, spec: PodSpec, is_wanted: Callable[[], bool] = lambda: True) -> PodStatus:
        """Create the pod of an attempt, or adopt it if it exists: repeated calls result in exactly one pod.

        Args:
            spec: The attempt.
            is_wanted: Called before each further try in this call; False ends the call with PodsUnavailable.

        Raises:
            PodConflict: Something else has the name, or its pod is being deleted or already gone.
            PodRejected: The specification can never run.
            PodsUnavailable: Try again; the pod may exist already.
        """
        ...

    def get(self, name: str) -> PodStatus | None:
        """Read one pod. None: it does not exist, and none of its processes runs any more."""
        ...

    def attempts(self, execution_id: str) -> builtins.list[PodStatus]:
        """Read all pods of one execution, in one call."""
        ...

    def last_words(self, name: str, uid: str) -> PodStatus | None:
        """Read how a pod had ended that is gone, and the end of its output. None: nobody knows, or it is not gone.

        Args:
            name: The pod.
            uid: Only of the pod with this uid.
        """
        ...

    def waits_for(self, name: str) -> str:
        """What delays a pod's start or its removal, in the backend's words. Empty: nothing, or there is no pod."""
        ...

    def watch(self, window_seconds: float) -> Iterator[PodChange]:
        """Report all pods (each as SEEN), then every change, until the window is over.

        Neither of two watches reports a pod that vanished between them: compare with the pods that should exist.
        """
        ...

    def logs(self, name: str, *, follow: bool = False, tail_bytes: int | None = None) -> Iterator[bytes]:
        """Read a pod's output.

        Args:
            name: The pod.
            follow: Go on until the pod has ended.
            tail_bytes: Begin so many bytes before the present end; None: at the beginning.

        Raises:
            PodNotFound: There is no such pod; the call itself raises it, before anything is read.
            PodsForbidden: This process may not read it; also in the middle.
        """
        ...

    def follow(
        self, name: str, closing: Closing, *, after: int | None = None, tail_bytes: int | None = None
    ) -> Iterator[Piece]:
        """Read a pod's output until the pod has ended, with the position of each piece.

        Args:
            name: The pod.
            closing: Ends it; a reader that waits wakes up.
            after: Begin after so many bytes of the output: the end of the last piece of an earlier reading.
            tail_bytes: As for `logs`, if `after` is not given.

        Raises:
            PodNotFound: There is no such pod; the call itself raises it, before anything is read.
            PodsUnavailable: The backend does not answer any more; also in the middle.
            PodsForbidden: This process may not read it; also in the middle.
        """
        ...

    def delete(self, name: str, *, uid: str | None = None) -> bool:
        """Request a pod's deletion, whether it runs or has ended, even if that is not acknowledged.

        A running program gets TERM, a grace period, then KILL. The call does not wait for that; ``get`` returns None
        when the pod is gone, and `last_words` how it ended, if the backend keeps that apart.

        Args:
            name: The pod.
            uid: Delete only the pod with this uid.

        Returns:
            False if there is no such pod.
        """
        ...

    def acknowledge(self, name: str, uid: str) -> bool:
        """Declare that the outcome is stored, so that the pod may be collected.

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

    def place(self) -> str:
        """What tells the place of these pods apart from any other, without a space; workers of one queue share it.

        Raises:
            PodsUnavailable: If the folder of local pods cannot be read or made.
        """
        ...

    def describe(self) -> str:
        """Name the backend in a few words, for ``bandmaster status``."""
        ...

    def list(self) -> list[PodStatus]:
        """Read all pods, including those being deleted and those acknowledged but not yet collected."""
        ...
