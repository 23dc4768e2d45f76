"""A queue, its workers, and one namespace in which executions run as pods: what an installation consists of."""

import json
from pathlib import Path

import redis
from cluster_admin import Admin, Json
from faults_process.members import Member, Members
from history import History
from making import BUSYBOX

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.configs.children import Replaced
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import TERMINAL, State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

LIMIT = 5
MINUTES = 60.0
FOREVER = "trap 'exit 1' TERM; while :; do sleep 0.1; done"
LONG_LEASES: Replaced = {("leases", "lease_ttl_ms"): "60000", ("leases", "pod_lease_ttl_ms"): "30000"}
"""No lease ends before a watcher is back. A worker's lease outlasts the lock of a watch that died, the start of the
next worker and its first window. In a chaos run, a killed worker's slots are free after that time."""


class Installation:
    """One server, one namespace, and whatever workers a test starts."""

    def __init__(self, client: redis.Redis, url: str, folder: Path, settings: KubernetesSettings, admin: Admin) -> None:
        self.queue = ExecutionQueueService(client)
        self.queue.controls.change_setting("max_concurrent_executions", LIMIT)
        self.members = Members(url, folder)
        self.namespace = settings.namespace
        self._settings = settings
        self._admin = admin

    def configured(self, **changes: object) -> Replaced:
        """The settings of its processes, some of them changed."""
        settings = self._settings.model_copy(update=changes)
        own = {("k8s", name): str(getattr(settings, name)) for name in settings.model_fields_set if name != "backend"}
        return own | {
            ("k8s", "backend"): "kubernetes",
            ("k8s", "default_image"): BUSYBOX,
        }

    def worker(
        self, *, threads: int = 8, url: str | None = None, leases: Replaced | None = None, **changes: object
    ) -> Member:
        """Start one more worker."""
        return self.members.worker(threads=threads, url=url, settings={**self.configured(**changes), **(leases or {})})

    def watcher(self) -> Member:
        """Start a process that watches, though a worker does so too."""
        here = {"PYTHONPATH": str(Path(__file__).parent)}
        return self.members.other("watching_beside", ready="watching", settings=self.configured(), environment=here)

    def submit(self, line: str | None = None, *, timeout_seconds: int = 600, **fields: object) -> str:
        """A shell line to be run in a pod."""
        asked: Json = {"timeout_seconds": timeout_seconds} | fields
        if line is not None:
            asked["command"] = ("sh", "-c", line)
        event = ExecutionRequestedEvent.from_any(asked)
        self.queue.enqueue(event)
        return event.execution_id

    def meta(self, execution_id: str) -> dict[str, str]:
        """An execution's record."""
        return self.queue.views.meta(execution_id)

    def metas(self, ids: list[str]) -> list[dict[str, str]]:
        """The records of several."""
        return self.queue.views.metas(ids)

    def state(self, execution_id: str) -> State:
        """Where an execution stands."""
        return State(self.meta(execution_id)["state"])

    def result(self, execution_id: str) -> Json:
        """How it ended."""
        return json.loads(self.queue.views.result(execution_id) or b"{}")

    def pods_of(self, execution_id: str) -> list[Json]:
        """Its pods that are there, as the API server has them."""
        return [
            pod
            for pod in self._admin.pods(self.namespace)
            if pod["metadata"].get("annotations", {}).get("bandmaster.dev/execution-id") == execution_id
        ]

    def wait_for_pod(self, execution_id: str, *, attempt: int = 1, phase: str = "Running") -> str:
        """Wait until the pod of an attempt is that far; returns its name."""

        def there() -> str | None:
            meta = self.meta(execution_id)
            name = meta.get("pod") if meta.get("attempt") == str(attempt) and meta["state"] == State.POD else None
            pod = self._admin.pod(self.namespace, name) if name else None
            return name if pod is not None and pod["status"]["phase"] == phase else None

        return wait_until(there, timeout_seconds=2 * MINUTES, what=f"{phase} of attempt {attempt}") or ""

    def wait_until_all(self, ids: list[str], timeout_seconds: float = 4 * MINUTES) -> None:
        """Wait for the end of all; then the journal has to tell of nothing that is not allowed."""
        wait_until(
            lambda: all(meta["state"] in TERMINAL for meta in self.metas(ids)),
            timeout_seconds=timeout_seconds,
            what="the end of all executions",
        )
        limit = int(self.queue.views.status().settings["max_concurrent_executions"] or 0)
        history = History(limit, self.queue.controls.limits()).read(self.queue.journal.entries())
        assert history.executions.keys() == set(ids)
        assert not history.living()
        assert self.queue.views.status().active_count == 0

    def wait_until_settled(self) -> None:
        """Wait until no pod is held for its result any more."""
        try:
            wait_until(lambda: not self._held_pods(), timeout_seconds=MINUTES, what="settling")
        except AssertionError as error:
            raise AssertionError(f"{error}; still held: {json.dumps(self._held_pods(), indent=1)}") from None

    def _held_pods(self) -> list[Json]:
        return [pod for pod in self._admin.pods(self.namespace) if pod["metadata"].get("finalizers")]
