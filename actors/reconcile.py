"""One watch window: reports pods that ended, renews the leases of running ones, deletes orphans.

In the flow: `watch_completions` runs one window after the other. Each window begins with a list of all pods, so it
misses nothing that happened before, and compares all pods with the records in Redis. Each step is fenced by the
attempt. So two watches at once, or one that slept, do no harm; if a watch dies, the next one begins.

==============================  ========================================================================================
the execution is …              and its pod …
==============================  ========================================================================================
RUNNING, this attempt           is alive: its creator may have died, so the grant is handed over to the pod here
RUNNING, this attempt           is being deleted: it may belong to an earlier grant; only the lease is renewed (F14)
POD, this attempt               is alive: its lease is renewed
CANCELLING, this attempt        is alive: its lease is renewed, and the pod is deleted unless that is under way
any of these                    has ended: its end is reported until the slot is given back and the pod acknowledged
any of these                    is gone, and nobody saw its end: it is reported as absent (F23)
waiting, ended, later attempt   is alive: it is an orphan and is deleted (D8, D10)
not known                       is alive: it is left alone, since Redis may have lost data; its own timeout bounds it
not known, but holds a slot     is not there: the execution's record is lost, and the slot is given back
==============================  ========================================================================================
"""

import time
from collections.abc import Callable
from typing import Final

from ..configs.logger import Logger
from ..k8s.pods import ChangeKind, PodChange, Pods, PodStatus
from ..scheduler.engine.grants import Code, pod_holder
from ..scheduler.events import ExecutionEndedEvent
from ..scheduler.model.errors import BandmasterError
from ..scheduler.model.states import HOLDING, State
from ..scheduler.queue import ExecutionQueueService
from .outcome import absent_event, event_of

log = Logger(__name__)
HOLDERS_MAX: Final = 100_000
RECORDS_A_CALL: Final = 500

Report = Callable[[ExecutionEndedEvent], None]


class Watch:
    """Watches pods, one window at a time, and remembers from one window to the next which ends it has reported."""

    def __init__(
        self, service: ExecutionQueueService, pods: Pods, report: Report, *, tend_seconds: float, again_seconds: float
    ) -> None:
        """Watch the pods of one backend for one queue.

        Args:
            service: The queue.
            pods: The backend.
            report: Sends a lifecycle event.
            tend_seconds: The least time between two comparisons with Redis within one window.
            again_seconds: A reported end is reported again if it is not acknowledged within this time.
        """
        self._queue = service
        self._pods = pods
        self._send = report
        self._tend_seconds = tend_seconds
        self._again_seconds = again_seconds
        self._alive: dict[str, PodStatus] = {}
        self._ended: set[str] = set()
        self._reported: dict[str, float] = {}
        self._unknown: set[str] = set()

    def run(self, window_seconds: float, is_ours: Callable[[], bool] = lambda: True) -> None:
        """Watch until the window is over.

        Args:
            window_seconds: The length of the window.
            is_ours: Whether this watch still holds the lock; called before each comparison.

        Raises:
            PodsUnavailable: If the backend does not answer.
            QueueUnavailable: If Redis does not answer.
        """
        self._alive.clear()
        self._ended.clear()
        self._forget()
        tended_at = time.monotonic()
        for change in self._pods.watch(window_seconds):
            self._see(change)
            if time.monotonic() - tended_at >= self._tend_seconds:
                if not is_ours():
                    return
                self._tend()
                tended_at = time.monotonic()
        if is_ours():
            self._tend()

    @property
    def pods_seen(self) -> int:
        """How many pods there were in the last window; each window begins with a look at all of them."""
        return len(self._alive) + len(self._ended)

    def _see(self, change: PodChange) -> None:
        pod = change.status
        self._alive.pop(pod.uid, None)
        if change.kind is ChangeKind.DELETED:
            self._ended.discard(pod.name)
            if not pod.acknowledged and pod.outcome is None:
                self._report(pod, self._absent)
        elif pod.outcome is None:
            self._alive[pod.uid] = pod
        else:
            self._ended.add(pod.name)
            if not pod.acknowledged and not self._is_nobodys(pod):
                self._report(pod, event_of)

    def _is_nobodys(self, pod: PodStatus) -> bool:
        """Whether we deleted this pod and no grant was handed over to it; a later pod may have its attempt (F14)."""
        return pod.discarded and self._queue.views.meta(pod.execution_id).get("pod_uid") != pod.uid

    def _report(self, pod: PodStatus, event: Callable[[PodStatus], ExecutionEndedEvent]) -> None:
        if self._has_reported(pod.uid):
            return
        try:
            self._send(event(pod))
        except BandmasterError as error:
            # One pod that cannot be reported must not hide all others.
            log.error("pod_not_reported", execution_id=pod.execution_id, pod=pod.name, error=str(error))
            return
        self._reported[pod.uid] = time.monotonic()

    def _has_reported(self, uid: str) -> bool:
        at = self._reported.get(uid)
        return at is not None and time.monotonic() - at < self._again_seconds

    def _forget(self) -> None:
        since = time.monotonic() - self._again_seconds
        self._reported = {uid: at for uid, at in self._reported.items() if at >= since}

    def _tend(self) -> None:
        """Compare the living pods with the records in Redis, both ways."""
        alive = {pod.name: pod for pod in self._alive.values()}
        holders = self._queue.views.pod_leases(HOLDERS_MAX)
        self._unknown &= self._alive.keys()
        ids = list(dict.fromkeys([pod.execution_id for pod in alive.values()] + list(holders)))
        # In pages, so that each call meets its deadline, however many pods there are.
        pages = (ids[begin : begin + RECORDS_A_CALL] for begin in range(0, len(ids), RECORDS_A_CALL))
        metas = {name: meta for page in pages for name, meta in zip(page, self._queue.views.metas(page), strict=True)}
        held = [pod for pod in alive.values() if self._is_held(pod, metas[pod.execution_id])]
        self._queue.transitions.renew([(pod.execution_id, pod.attempt, pod_holder(pod.uid)) for pod in held])
        known = {pod.execution_id for pod in alive.values()}
        for execution_id, lease in holders.items():
            meta = metas[execution_id]
            if not meta and execution_id not in known:
                log.warning("record_lost", execution_id=execution_id)
                self._queue.transitions.forget(lease)  # no pod runs in this slot any more
            elif "pod" in meta and meta["pod"] not in alive and not self._has_reported(meta["pod_uid"]):
                self._look_for(execution_id, meta)

    def _is_held(self, pod: PodStatus, meta: dict[str, str]) -> bool:
        """Whether a living pod belongs to an execution that holds a slot for it; an orphan is deleted."""
        state = meta.get("state")
        if state is None:
            if pod.uid not in self._unknown:
                self._unknown.add(pod.uid)
                log.warning("pod_of_unknown_execution", execution_id=pod.execution_id, pod=pod.name)
            return False
        if meta.get("attempt") != str(pod.attempt) or state not in HOLDING:
            log.warning("orphan_pod", execution_id=pod.execution_id, attempt=pod.attempt, state=state, pod=pod.name)
            self._delete(pod)
            return False
        if state == State.RUNNING and pod.deleting:
            # The server lost the grant of this pod and granted the attempt again: the new creator waits for its end.
            self._queue.transitions.renew([(pod.execution_id, pod.attempt, "")])
            return False
        if state == State.RUNNING:
            handed = self._queue.transitions.hand_over(pod.execution_id, pod.attempt, pod.name, pod.uid)
            log.info("pod_adopted", execution_id=pod.execution_id, attempt=pod.attempt, code=handed.code)
            state = handed.state if handed.code is Code.OK else None
        if state == State.CANCELLING:
            self._delete(pod)
        return state is not None

    def _delete(self, pod: PodStatus) -> None:
        if not pod.deleting:
            self._pods.delete(pod.name, uid=pod.uid)

    def _look_for(self, execution_id: str, meta: dict[str, str]) -> None:
        """Look up the pod of an execution that holds a slot, if this window has not seen the pod alive.

        The pod is brand-new, has ended or is gone. An end that was acknowledged before is reported again: the server
        came back with older data (F32).
        """
        pod = self._pods.get(meta["pod"])
        if pod is None or pod.uid != meta["pod_uid"]:
            log.warning("pod_absent", execution_id=execution_id, attempt=meta["attempt"], pod=meta["pod"])
            last = self._pods.last_words(meta["pod"], meta["pod_uid"])
            self._send(absent_event(execution_id, int(meta["attempt"]), meta["pod_uid"], last))
            self._reported[meta["pod_uid"]] = time.monotonic()
        elif pod.outcome is not None:
            self._report(pod, event_of)
        else:
            # An earlier release of Bandmaster created it, or it is brand-new: the watch does not list it.
            self._is_held(pod, meta)
            self._queue.transitions.renew([(execution_id, pod.attempt, pod_holder(pod.uid))])

    def _absent(self, pod: PodStatus) -> ExecutionEndedEvent:
        return absent_event(pod.execution_id, pod.attempt, pod.uid, self._pods.last_words(pod.name, pod.uid))
