"""A watcher like ``watch_completions``, for tests: sees every change in a thread, and settles ends if it is told to."""

import threading
from types import TracebackType

from bandmaster.k8s.errors import PodsUnavailable
from bandmaster.k8s.pods import ChangeKind, PodChange, PodOutcome, Pods, PodStatus
from waiting import wait_until

WINDOW_SECONDS = 3.0
TIMEOUT_SECONDS = 90.0


class Watcher:
    """Watches window after window until it is closed.

    Args:
        pods: Of which backend.
        settle: Whether to acknowledge every end that it sees.
        window_seconds: How long a window is.
    """

    def __init__(self, pods: Pods, *, settle: bool = False, window_seconds: float = WINDOW_SECONDS) -> None:
        self.changes: list[PodChange] = []
        self.failures: list[PodsUnavailable] = []
        self._pods = pods
        self._settle = settle
        self._window_seconds = window_seconds
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watcher":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed.set()
        self._thread.join(timeout=self._window_seconds + 15)
        assert not self._thread.is_alive()

    def finish(self) -> None:
        """Watch no longer than to the next change."""
        self._closed.set()

    def of(self, name: str) -> list[PodChange]:
        """What was seen of a pod."""
        return [change for change in self.changes.copy() if change.status.name == name]

    def statuses(self, name: str) -> list[PodStatus]:
        """How a pod was seen, as long as it was there."""
        return [change.status for change in self.of(name) if change.kind is ChangeKind.SEEN]

    def ends(self, name: str) -> list[PodOutcome]:
        """The outcomes that were seen of a pod, doubled ones left out."""
        found: list[PodOutcome] = []
        for status in self.statuses(name):
            if status.outcome is not None and not status.acknowledged and status.outcome not in found:
                found.append(status.outcome)
        return found

    def end(self, name: str, timeout_seconds: float = TIMEOUT_SECONDS) -> PodOutcome:
        """Wait for a pod's end."""
        return wait_until(lambda: self.ends(name), timeout_seconds=timeout_seconds, what=f"the end of {name}")[0]

    def wait_running(self, name: str, timeout_seconds: float = TIMEOUT_SECONDS) -> PodStatus:
        """Wait until a pod runs."""
        wait_until(
            lambda: any(status.phase.value == "Running" for status in self.statuses(name)),
            timeout_seconds=timeout_seconds,
            what=f"the start of {name}",
        )
        return self.statuses(name)[-1]

    def wait_gone(self, name: str, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Wait until a pod is gone or settled: seen to leave, or, between two windows, unseen."""

        def has_left() -> bool:
            if any(change.kind is ChangeKind.DELETED for change in self.of(name)):
                return True
            found = self._pods.get(name)
            return found is None or found.acknowledged

        wait_until(has_left, timeout_seconds=timeout_seconds, what=f"the departure of {name}")

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                for change in self._pods.watch(self._window_seconds):
                    self.changes.append(change)
                    status = change.status
                    if self._settle and status.outcome is not None and not status.acknowledged:
                        self._pods.acknowledge(status.name, status.uid)
                    if self._closed.is_set():
                        break
            except PodsUnavailable as error:
                self.failures.append(error)
