"""Reads the bounded tail of an ended pod's log; and, if its end is uncertain, confirms that nothing runs any more.

In the flow: the watch, `get` and `list` complete every outcome here before they return it. The API can return only the
last lines, not the last bytes, so a few lines are streamed through a buffer of fixed size, more if they were short. A
followed log ends when the kubelet finds the container stopped: this confirms an uncertain end. If a pod was deleted
without a grace period while it started, its kubelet has to report, some time later, that there is no container.
Tails are cached by UID for a while, since one process usually reads the same end two or three times.
"""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from ...configs.logger import Logger
from ..pods import PodStatus
from .bytestream import is_log_gone, without_runtime_error
from .client import ClusterApi
from .faults import ApiError, Fault
from .news import is_pulling, read_news
from .objects import Pod
from .outcome import Sight, deletion_asked_at
from .patience import Patience
from .reasons import container_state, is_failure

log = Logger(__name__)

TAIL_BYTES: Final = 8 << 10
_FEW_LINES: Final = 256
#: Enough lines to fill the tail even if all lines are empty.
_ENOUGH_LINES: Final = TAIL_BYTES
#: Container runtimes cut lines into pieces of this size, and each piece counts as a line.
_PIECE_BYTES: Final = 16 << 10
_READ_WITHIN_SECONDS: Final = 3.0
_KILL_SLACK_SECONDS: Final = 5.0
#: An uncertain end that its node does not confirm is accepted after this time.
_BELIEVED_AFTER_SECONDS: Final = 60.0
#: By then, a kubelet that was told of a deletion has started its last container of the pod, and ended it.
_NEVER_STARTED_SECONDS: Final = 30.0
#: The longest time that an image pull is assumed to take if this program may not read the pod's events.
_LONGEST_PULL_SECONDS: Final = 300.0
_REMEMBERED: Final = 512
#: At most so many logs are followed by threads of their own; the watcher follows the logs of other deleted pods.
_COMPANIONS: Final = 16
#: How long to wait for a followed log to end: it ends a moment after its program.
_FOLLOWED_SECONDS: Final = 3.0
_NOTHING: Final = (b"", 0, 0)


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a log."""

    text: str = ""
    truncated: bool = False


class Tails:
    """Reads and caches tails. Safe to share between threads."""

    def __init__(self, api: ClusterApi) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Tail] = OrderedDict()
        self._followed: dict[str, threading.Event] = {}
        self._companions = threading.Semaphore(_COMPANIONS)

    def complete(self, sight: Sight, *, stored_too: bool = False) -> PodStatus:
        """The status with its outcome's output; without an outcome, if the program may still run.

        Takes as long as reading the log; for an uncertain end up to the pod's grace period and some seconds.

        Args:
            sight: The pod.
            stored_too: Whether to read the output of an acknowledged pod too, whose tail was stored with its result.
        """
        status, outcome = sight.status, sight.status.outcome
        if outcome is None or (status.acknowledged and not stored_too):
            return status
        with self._lock:
            followed = self._followed.get(sight.pod.uid)
        if followed is not None:
            followed.wait(_FOLLOWED_SECONDS)
        tail = self._remembered(sight.pod.uid)
        if tail is None:
            tail = self._read(sight)
            if tail is None:
                return sight.running
            self._remember(sight.pod.uid, tail)
        return replace(
            status,
            outcome=replace(outcome, output_tail=tail.text + outcome.output_tail, output_truncated=tail.truncated),
        )

    def accompany(self, pod: Pod) -> None:
        """Follow the log of a pod that is being deleted to its end: soon after that, some kubelets delete the log.

        Only once for each pod, however many windows see it: a second follower, being too late, would overwrite the
        tail that the first one read.
        """
        with self._lock:
            if pod.uid in self._followed or pod.uid in self._known:
                return
            over = self._followed[pod.uid] = threading.Event()
        try:
            self._remember(pod.uid, read_tail(self._api, pod, follow=True))
        except ApiError as error:
            # The pod's end is reported nevertheless, perhaps without the end of its output.
            log.info("log_not_followed", pod=pod.name, error=str(error))
        finally:
            over.set()
            with self._lock:
                self._followed.pop(pod.uid, None)

    def accompany_beside(self, pod: Pod) -> None:
        """Do the same in a new thread, for the caller that deletes the pod: it knows first, and may watch it too."""
        if self._companions.acquire(blocking=False):
            threading.Thread(target=self._accompany_and_leave, args=(pod,), name="pod-last-words", daemon=True).start()

    def _accompany_and_leave(self, pod: Pod) -> None:
        try:
            self.accompany(pod)
        finally:
            self._companions.release()

    def is_known(self, pod: Pod) -> bool:
        """Whether `complete` will answer at once."""
        return self._remembered(pod.uid) is not None

    def _remembered(self, uid: str) -> Tail | None:
        with self._lock:
            return self._known.get(uid)

    def _remember(self, uid: str, tail: Tail) -> None:
        with self._lock:
            self._known[uid] = tail
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)

    def _read(self, sight: Sight) -> Tail | None:
        """Read the tail. None: it is not confirmed that the program does not run any more."""
        if not sight.pod.spec.node_name or (sight.certain and not sight.has_log):
            return Tail()
        if not sight.certain and not sight.has_log and self._may_start(sight):
            return None
        patience = Patience(_READ_WITHIN_SECONDS)
        while True:
            try:
                return read_tail(self._api, sight.pod, follow=not sight.certain)
            except ApiError as error:
                if error.fault in (Fault.REJECTED, Fault.NOT_FOUND):
                    return Tail()  # its node has no such container (any more)
                believed = sight.certain or (sight.has_log and self._is_believed(sight))
                if believed and not patience.wait(error):
                    log.warning("log_not_read", pod=sight.pod.name, error=str(error))
                    return Tail(f"[bandmaster: its log could not be read: {error}]\n")
                if not sight.certain:
                    return None

    def _may_start(self, sight: Sight) -> bool:
        """Whether a kubelet may still start a pod that was deleted without a grace period."""
        asked_at = deletion_asked_at(sight.pod)
        if asked_at is None or sight.pod.status.phase == "Failed":
            return False  # its node refused the pod, or gave it up
        since_seconds = self._api.clock.now() - asked_at
        if since_seconds < _NEVER_STARTED_SECONDS:
            return True
        waiting = container_state(sight.pod).waiting
        if waiting is not None and is_failure(waiting):
            return False
        news = read_news(self._api, sight.pod.uid)
        return since_seconds < _LONGEST_PULL_SECONDS if news is None else is_pulling(news)

    def _is_believed(self, sight: Sight) -> bool:
        outcome = sight.status.outcome
        after_seconds = sight.pod.spec.termination_grace_period_seconds + _BELIEVED_AFTER_SECONDS
        return outcome is not None and self._api.clock.now() > outcome.ended_at + after_seconds


def read_tail(api: ClusterApi, pod: Pod, *, follow: bool = False) -> Tail:
    """Read the end of a pod's log.

    Args:
        api: The cluster.
        pod: The pod.
        follow: Read until the program has stopped, which must be within its grace period.

    Raises:
        ApiError: SILENT if the program has not stopped by then.
    """
    within = pod.spec.termination_grace_period_seconds + _KILL_SLACK_SECONDS
    found = _last_bytes(api, pod.name, _FEW_LINES, follow_seconds=within if follow else None)
    # The answer also ends if a connection behind the API server breaks; and a runtime may write the last lines after it
    # has reported the program's end. So the log has to end twice at the same place. If the kubelet has deleted it
    # meanwhile, the first reading is all there is.
    while follow and (again := _heard_again(api, pod.name, within)) not in (found, _NOTHING):
        found = again
    text, lines, total = found
    all_there = lines < _FEW_LINES - TAIL_BYTES // _PIECE_BYTES - 1
    if total <= TAIL_BYTES and not all_there:
        text, lines, total = _last_bytes(api, pod.name, _ENOUGH_LINES)
        all_there = lines < _ENOUGH_LINES - 1
    return Tail(text.decode(errors="replace"), truncated=total > TAIL_BYTES or not all_there)


def _heard_again(api: ClusterApi, name: str, within: float) -> tuple[bytes, int, int]:
    try:
        return _last_bytes(api, name, _FEW_LINES, follow_seconds=within)
    except ApiError as error:
        if error.fault in (Fault.REJECTED, Fault.NOT_FOUND):
            return _NOTHING
        raise


def _last_bytes(
    api: ClusterApi, name: str, tail_lines: int, *, follow_seconds: float | None = None
) -> tuple[bytes, int, int]:
    """Return the last bytes of the last lines, the number of these lines, and their size in bytes."""
    until = None if follow_seconds is None else time.monotonic() + follow_seconds
    stream = api.read_log(name, tail_lines=tail_lines, follow=until is not None, idle_seconds=follow_seconds)
    kept, lines, total = b"", 0, 0
    try:
        for chunk in stream:
            kept = (kept + chunk)[-TAIL_BYTES:]
            lines += chunk.count(b"\n")
            total += len(chunk)
            if until is not None and time.monotonic() > until:
                raise ApiError(Fault.SILENT, f"pod {name} still writes")
    finally:
        stream.close()
    if is_log_gone(kept):
        return _NOTHING
    words = len(kept)
    kept = without_runtime_error(kept)
    return kept, lines, total - (words - len(kept))
