"""Watches the pods for one window: the source of everything that ``watch_completions`` reports.

In the flow: the stream's thread passes on the API server's events; this module turns them into changes. An end is
reported once its log's tail was read (by a few threads, so that one slow log delays nothing). Overdue pods are given
up, and the cleanup runs beside. Pods whose result is stored, most pods on a busy cluster, are not watched. A pod that
leaves the watch is gone, or was settled meanwhile. With many pods, a window begins with the pods that the previous
window knew, and processes them while no new events arrive. If the process dies, the next window begins with a list of
all unsettled pods, so no pod with a finalizer is ever missed.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, Final

from ...configs.areas import KubernetesSettings
from ...configs.logger import Logger
from ..errors import PodsUnavailable
from ..pods import ChangeKind, PodChange, PodStatus
from . import labels
from .cleanup import Cleanup
from .client import ClusterApi
from .deleting import end_others, give_up, release_finalizer
from .faults import ApiError
from .objects import Pod
from .outcome import Sight, look, started
from .overdue import Overdue, overdue
from .patience import patiently
from .reasons import is_outlived
from .stream import Left, Listed, Past, PodStream, Remembered, Seen
from .tails import Tails

log = Logger(__name__)

#: The longest time that the consumer's thread blocks, so that a worker can stop without delay.
_TURN_SECONDS: Final = 0.25
_LOOK_AROUND_SECONDS: Final = 0.5
_READERS: Final = 4
#: Threads that each wait up to a grace period for the end of a log; only old kubelets need them.
_CONFIRMERS: Final = 16
_CONFIRM_AGAIN_SECONDS: Final = 5.0
#: Before its finalizer is removed, a discarded pod stays for this time, in which its end may be stored.
_DISCARD_AFTER_SECONDS: Final = 5.0
#: How long a window that is over waits for tails that are being read.
_LINGER_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Completed:
    """A tail was read."""

    sight: Sight
    status: PodStatus


class Watching:
    """One window."""

    def __init__(self, api: ClusterApi, settings: KubernetesSettings, tails: Tails, cleanup: Cleanup) -> None:
        self._api = api
        self._settings = settings
        self._tails = tails
        self._cleanup = cleanup
        #: The state that the next window may begin with.
        self.past: Past | None = None
        self._inbox: SimpleQueue[Seen | Left | Listed | Remembered | _Completed] = SimpleQueue()
        self._all_seen = False
        self._remembered: deque[Pod] = deque()
        self._news_of: set[str] = set()
        self._shown: dict[str, PodStatus] = {}
        self._reading: set[str] = set()
        self._accompanied: set[str] = set()
        self._left_meanwhile: dict[str, Left] = {}
        self._due: dict[str, tuple[Pod, Overdue]] = {}
        self._given_up: set[str] = set()
        self._look_again: dict[str, tuple[float, Pod]] = {}
        self._let_go: dict[str, tuple[float, Pod]] = {}
        self._readers = ThreadPoolExecutor(_READERS, "pod-tails")
        self._confirmers = ThreadPoolExecutor(_CONFIRMERS, "pod-ends")

    def changes(self, window_seconds: float, past: Past | None = None) -> Iterator[PodChange]:
        """See `Pods.watch`. However short the window and slow the cluster, it does not end before all pods were seen.

        Args:
            window_seconds: The length of the window.
            past: The state at the end of the window before.

        Raises:
            PodsUnavailable: If the cluster did not answer in the whole window.
        """
        ends_at = time.monotonic() + window_seconds
        selector = labels.unsettled(self._settings.installation)
        stream = PodStream(self._api, selector, window_seconds, self._inbox.put, past)
        try:
            look_around_at = 0.0
            while self._goes_on(stream, ends_at):
                now = time.monotonic()
                if now >= look_around_at:
                    look_around_at = now + _LOOK_AROUND_SECONDS
                    self._look_around(now)
                try:
                    turn = 0.0 if self._remembered else min(_TURN_SECONDS, max(0.001, ends_at - now))
                    item = self._inbox.get(block=turn > 0, timeout=turn)
                except Empty:
                    yield from self._see_remembered()
                    continue
                yield from self._take(item)
            if not self._all_seen:
                raise PodsUnavailable(f"no pod could be watched: {stream.failure or 'the API server is silent'}")
        finally:
            stream.close()
            self.past = stream.past
            self._readers.shutdown(wait=False, cancel_futures=True)
            self._confirmers.shutdown(wait=False, cancel_futures=True)

    def _goes_on(self, stream: PodStream, ends_at: float) -> bool:
        now = time.monotonic()
        if now < ends_at:
            return True
        if not self._all_seen:
            return (
                stream.failure is None and now < max(ends_at, stream.heard_at) + self._settings.request_timeout_seconds
            )
        return bool(self._reading) and now < ends_at + _LINGER_SECONDS

    def _take(self, item: Seen | Left | Listed | Remembered | _Completed) -> Iterator[PodChange]:
        if isinstance(item, Seen | Left) and not self._all_seen:
            self._news_of.add(item.pod.uid)
        match item:
            case Listed():
                self._all_seen = True
            case Remembered(pods):
                self._remembered.extend(pods)
                self._all_seen = not pods
            case Seen(pod):
                yield from self._see(pod)
            case Left(pod) if pod.uid in self._reading:
                self._left_meanwhile[pod.uid] = item
            case Left(pod):
                yield from self._leave(pod)
            case _Completed(sight, status):
                yield from self._complete(sight, status)

    def _see_remembered(self) -> Iterator[PodChange]:
        """Report the next pod that the previous window knew, unless a newer event reported it."""
        if self._remembered:
            pod = self._remembered.popleft()
            self._all_seen = self._all_seen or not self._remembered
            if pod.uid not in self._news_of:
                yield from self._see(pod)

    def _see(self, pod: Pod) -> Iterator[PodChange]:
        sight = look(pod)
        if sight is None:
            return
        due = overdue(pod, self._settings)
        self._due.pop(pod.uid, None)
        if due is not None and due.at <= self._api.clock.now():
            self._give_up(pod, due)  # at once: the window may end before the next look around
        elif due is not None:
            self._due[pod.uid] = (pod, due)
        if sight.status.outcome is None:
            if pod.uid not in self._accompanied and (is_outlived(pod) or (pod.deleting and started(pod))):
                self._accompanied.add(pod.uid)
                self._beside(self._tails.accompany if pod.deleting else self._end_others, pod)
            yield from self._show(sight.status)
        elif sight.status.acknowledged or self._tails.is_known(pod):
            yield from self._complete(sight, self._tails.complete(sight))
        elif pod.uid not in self._reading:
            self._reading.add(pod.uid)
            pool = self._readers if sight.certain else self._confirmers
            pool.submit(self._read, sight).add_done_callback(_log_failure)

    def _read(self, sight: Sight) -> None:
        # Whatever happens, the end is reported, without its log if necessary.
        status = sight.status
        try:
            status = self._tails.complete(sight)
        finally:
            self._inbox.put(_Completed(sight, status))

    def _complete(self, sight: Sight, status: PodStatus) -> Iterator[PodChange]:
        pod = sight.pod
        self._reading.discard(pod.uid)
        if status.outcome is None:
            self._look_again[pod.uid] = (time.monotonic() + _CONFIRM_AGAIN_SECONDS, pod)
        elif labels.DISCARDED in pod.metadata.annotations:
            # Counted from the pod's end, so that windows shorter than this delay release the pod too.
            at = min(self._api.clock.now(), status.outcome.ended_at) + _DISCARD_AFTER_SECONDS
            if at <= self._api.clock.now():
                self._beside(release_finalizer, self._api, pod)
            else:
                self._let_go[pod.uid] = (at, pod)
        yield from self._show(status)
        left = self._left_meanwhile.pop(pod.uid, None)
        if left is not None:
            yield from self._leave(left.pod)

    def _leave(self, pod: Pod) -> Iterator[PodChange]:
        for waiting in (self._due, self._look_again, self._let_go):
            waiting.pop(pod.uid, None)
        shown, sight = self._shown.pop(pod.uid, None), look(pod)
        if sight is None:
            return
        if shown is not None and shown.outcome is not None:
            # It was settled by a watcher or discarded: there is nothing more to report.
            yield PodChange(ChangeKind.DELETED, replace(shown, acknowledged=True))
            return
        try:
            found = patiently(_LINGER_SECONDS, lambda: self._api.get_pod(pod.name))
        except ApiError as error:
            # Its state is unknown, so report nothing: the expiry of its lease settles its execution.
            log.warning("pod_left_unseen", pod=pod.name, error=str(error))
            return
        now = look(found) if found is not None and found.uid == pod.uid else None
        if now is not None and now.status.acknowledged:
            yield PodChange(ChangeKind.SEEN, now.status)
            return
        if sight.status.outcome is not None:
            # Somebody else removed its finalizer: this is the last chance to report its end.
            yield PodChange(ChangeKind.SEEN, sight.status)
        yield PodChange(ChangeKind.DELETED, sight.status)

    def _show(self, status: PodStatus) -> Iterator[PodChange]:
        if self._shown.get(status.uid) != status:
            self._shown[status.uid] = status
            yield PodChange(ChangeKind.SEEN, status)

    def _look_around(self, now: float) -> None:
        """Do the work that is due by time, without an event from the cluster."""
        wall = self._api.clock.now()
        for uid in [uid for uid, (_, due) in self._due.items() if due.at <= wall]:
            self._give_up(*self._due.pop(uid))
        for uid in [uid for uid, (at, _) in self._let_go.items() if at <= wall]:
            self._beside(release_finalizer, self._api, self._let_go.pop(uid)[1])
        for uid in [uid for uid, (at, _) in self._look_again.items() if at <= now]:
            self._inbox.put(Seen(self._look_again.pop(uid)[1]))
        self._beside(self._cleanup.sweep)

    def _give_up(self, pod: Pod, due: Overdue) -> None:
        # Every later change of the pod leads here again; once in a window is enough.
        if pod.uid not in self._given_up:
            self._given_up.add(pod.uid)
            self._beside(give_up, self._api, pod, due)

    def _end_others(self, pod: Pod) -> None:
        # First read the end of its log: some kubelets delete it with the pod.
        self._tails.accompany(pod)
        end_others(self._api, pod)

    def _beside(self, task: Callable[..., object], *arguments: object) -> None:
        self._confirmers.submit(task, *arguments).add_done_callback(_log_failure)


def _log_failure(future: Future[Any]) -> None:
    if future.cancelled():
        return
    error = future.exception()
    if isinstance(error, ApiError):
        log.info("put_off", error=str(error))  # the next window tries again
    elif error is not None:
        log.error("watch_task_failed", exc_info=error)
