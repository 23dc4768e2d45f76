"""The observers of a chaos run: one looks at this machine's processes, one lists the pods, both all along.

Neither asks Bandmaster what runs. The node is this machine (`components.py`), so every program is a process here, with
its execution and attempt in its environment.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final

from chaos_rules import Attempt, Rules
from cluster_admin import Admin, Json
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.queue import ExecutionQueueService

LOOK_EACH_SECONDS: Final = 0.1
LIST_EACH_SECONDS: Final = 0.3
_EXECUTION: Final = b"EXECUTION_ID="
_ATTEMPT: Final = b"EXECUTION_ATTEMPT="


def running_programs(prefix: str) -> frozenset[Attempt]:
    """The attempts, of executions whose ids begin so, that have a process on this machine now."""
    return frozenset(one for path in Path("/proc").glob("[0-9]*/environ") if (one := _attempt_of(path, prefix)))


def attempts_of(pods: list[Json]) -> list[tuple[Attempt, str]]:
    """Each pod's attempt, and its UID."""
    found: list[tuple[Attempt, str]] = []
    for pod in pods:
        metadata = pod["metadata"]
        name = metadata.get("annotations", {}).get("bandmaster.dev/execution-id")
        if name is not None:
            found.append((Attempt(name, int(metadata["labels"]["bandmaster.dev/attempt"])), metadata["uid"]))
    return found


def _attempt_of(path: Path, prefix: str) -> Attempt | None:
    try:
        parts = path.read_bytes().split(b"\0")  # of a process that has ended: nothing
    except OSError:
        return None
    named = next((part.removeprefix(_EXECUTION).decode() for part in parts if part.startswith(_EXECUTION)), "")
    attempt = next((part.removeprefix(_ATTEMPT) for part in parts if part.startswith(_ATTEMPT)), b"0")
    return Attempt(named, int(attempt)) if named.startswith(prefix) else None


class Observers:
    """Tell the rules what they see, while the block runs."""

    def __init__(self, rules: Rules, queue: ExecutionQueueService, admin: Admin, namespace: str, prefix: str) -> None:
        self.looks = self.lists = 0
        self.living: list[Json] = []
        """The pods of the last list that have not ended and are not being deleted."""
        self._rules = rules
        self._queue = queue
        self._admin = admin
        self._namespace = namespace
        self._prefix = prefix
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._again_and_again, args=(self._look, LOOK_EACH_SECONDS), daemon=True),
            threading.Thread(target=self._again_and_again, args=(self._list, LIST_EACH_SECONDS), daemon=True),
        ]

    def __enter__(self) -> "Observers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(timeout=60)

    def _again_and_again(self, observe: Callable[[], None], each_seconds: float) -> None:
        while not self._over.wait(each_seconds):
            try:
                observe()
            except (QueueUnavailable, ApiException, HTTPError):
                continue  # who is asked is away: a fault of this run
            except Exception as error:  # noqa: BLE001 - an observer that died would see nothing, as if there were peace
                self._rules.violated(f"the observer fails: {error!r}")

    def _look(self) -> None:
        with self._rules.lock:
            before = running_programs(self._prefix)
            self._rules.see_programs(before)
            self.looks += 1
            ids = list({one.execution_id for one in before})
            metas = dict(zip(ids, self._queue.views.metas(ids), strict=True)) if ids else {}
            self._rules.see_holders(before & running_programs(self._prefix), metas)

    def _list(self) -> None:
        began = time.monotonic()
        pods = self._admin.pods(self._namespace)
        with self._rules.lock:
            if began > self._rules.restored_at:  # else it may show what has been forgiven since
                self._rules.see_pods(attempts_of(pods))
        self.lists += 1
        self.living = [
            pod
            for pod in pods
            if pod["status"]["phase"] in ("Pending", "Running") and "deletionTimestamp" not in pod["metadata"]
        ]
