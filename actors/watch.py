"""``watch_completions``: turns what becomes of the pods into lifecycle events, and keeps the leases of the living.

In the flow: an actor that watches for a bounded window and sends itself again; a lock makes it single, the periodic job
revives it. If its process dies, the lock's TTL runs out and the next watch begins with all pods there are, so nothing
that happened meanwhile is missed; what was reported twice changes nothing the second time.
"""

import time
from collections.abc import Callable

import dramatiq
import structlog
from dramatiq.middleware import Shutdown
from redis.exceptions import LockError

from ..k8s.pods import ChangeKind, PodChange, Pods, PodStatus
from ..scheduler.events import ExecutionEndedEvent, ExecutionFailedEvent
from ..scheduler.queue import ExecutionQueueService
from ..scheduler.states import TERMINAL, State
from .ended import execution_completed, execution_failed, execution_timeout
from .outcome import deleted_event, event_of
from .runtime import LIFECYCLE_QUEUE, broker, pods, queue

log = structlog.get_logger(__name__)
WINDOW_SECONDS = 10.0
RENEW_EVERY_SECONDS = 5.0
LOCK_GRACE_SECONDS = 10.0
WATCHER = "watch_completions"

REPORTERS = {
    "execution_completed": execution_completed,
    "execution_failed": execution_failed,
    "execution_timeout": execution_timeout,
}


def report(event: ExecutionEndedEvent) -> None:
    """Send the lifecycle event to its actor."""
    REPORTERS[event.event_type].send(event.model_dump(mode="json", exclude_none=True))  # type: ignore[attr-defined]


class Watch:
    """One window of watching."""

    def __init__(
        self, service: ExecutionQueueService, pods: Pods, report: Callable[[ExecutionEndedEvent], None]
    ) -> None:
        self._queue = service
        self._pods = pods
        self._report = report
        self._alive: dict[str, PodStatus] = {}
        self._reported: set[str] = set()
        self._renewed_at = 0.0

    def run(self, window_seconds: float) -> None:
        """Watch until the window is over."""
        self.reconcile()
        for change in self._pods.watch(window_seconds):
            self._see(change)
            if time.monotonic() - self._renewed_at >= RENEW_EVERY_SECONDS:
                self.renew()
        self.renew()

    def _see(self, change: PodChange) -> None:
        pod = change.status
        if change.kind is ChangeKind.DELETED:
            self._alive.pop(pod.uid, None)
            if pod.uid not in self._reported and not pod.acknowledged:
                self._end(pod, deleted_event(pod))
        elif pod.outcome is None:
            self._alive[pod.uid] = pod
        else:
            self._alive.pop(pod.uid, None)
            if not pod.acknowledged and pod.uid not in self._reported:
                self._end(pod, event_of(pod, pod.outcome))

    def _end(self, pod: PodStatus, event: ExecutionEndedEvent) -> None:
        self._reported.add(pod.uid)
        self._report(event)

    def renew(self) -> None:
        """Renew the leases of executions whose pods are alive; delete pods that are no current attempt's."""
        self._renewed_at = time.monotonic()
        alive = list(self._alive.values())
        held: list[tuple[str, int]] = []
        for pod, meta in zip(alive, self._queue.views.metas([p.execution_id for p in alive]), strict=True):
            current = meta.get("attempt") == str(pod.attempt) and meta.get("state") not in TERMINAL
            if not current:
                # Nobody waits for it: a later attempt has begun, or the execution has ended (D8, D10).
                log.warning("orphan_pod", execution_id=pod.execution_id, attempt=pod.attempt, pod=pod.name)
                self._pods.delete(pod.name, uid=pod.uid)
            elif meta["state"] != State.RUNNING:
                # RUNNING is its creator's to renew: if that died, the attempt must be reaped.
                held.append((pod.execution_id, pod.attempt))
            if meta.get("state") == State.CANCELLING and not pod.deleting:
                self._pods.delete(pod.name, uid=pod.uid)
        self._queue.transitions.renew(held)

    def reconcile(self) -> None:
        """What is POD or CANCELLING and was renewed by nobody: look what really became of its pod."""
        views = self._queue.views
        lapsed = views.lapsed_pods(views.server_time_ms())
        for execution_id, meta in zip(lapsed, views.metas(lapsed), strict=True):
            if "pod" not in meta:
                continue
            pod, attempt = self._pods.get(meta["pod"]), int(meta["attempt"])
            if pod is None:
                log.warning("pod_absent", execution_id=execution_id, attempt=attempt, state=meta["state"])
                self._report(
                    ExecutionFailedEvent(
                        execution_id=execution_id, attempt=attempt, reason="PodAbsent", infrastructure=True
                    )
                )
            else:
                # Alive or ended: the watch that follows renews or reports it.
                self._queue.transitions.renew([(execution_id, attempt)])


@dramatiq.actor(
    broker=broker, actor_name=WATCHER, queue_name=LIFECYCLE_QUEUE, max_retries=0, max_age=60_000, notify_shutdown=True
)
def watch_completions() -> None:
    """Watch the pods for a window, if nobody else does, and send itself again."""
    # A lock left behind by a killed watcher ends with its TTL; the periodic job then revives the watch.
    lock = queue.scripts.client.lock(
        queue.scripts.keys.lock(WATCHER), timeout=WINDOW_SECONDS + LOCK_GRACE_SECONDS, thread_local=False
    )
    if not lock.acquire(blocking=False):
        return
    try:
        Watch(queue, pods, report).run(WINDOW_SECONDS)
    except Shutdown:
        log.info("watch_interrupted")  # the worker stops; the message below goes to another, or waits for the next
    finally:
        try:
            lock.release()
        except LockError:
            log.warning("watch_lock_lost")
        watch_completions.send()
