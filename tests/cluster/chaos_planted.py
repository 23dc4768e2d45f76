"""What must not be, planted on purpose: a chaos run that does not find it proves nothing."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from chaos_work import Planned, Work
from cluster_admin import Admin, Json
from installation import LIMIT, Installation
from kubernetes.client.exceptions import ApiException
from making import BUSYBOX

from bandmaster.scheduler.model.states import TERMINAL

PLANTED: Final = ("program", "pod", "end", "execution")
POD: Final = "planted"
FINALIZER: Final = "bandmaster.dev/planted"


class Planting:
    """Plants some kinds, each once."""

    def __init__(self, kinds: Iterable[str], installation: Installation, admin: Admin, work: Work) -> None:
        self._waiting = list(kinds)
        self._installation = installation
        self._admin = admin
        self._work = work
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ways: Mapping[str, Callable[[], bool]] = {
            "program": self._more_programs_than_slots,
            "pod": self._a_pod_that_stays,
            "end": self._a_second_end,
            "execution": self._one_that_is_lost,
        }

    def is_done(self) -> bool:
        """Plant what was not planted yet, as far as that can be done now."""
        self._waiting = [kind for kind in self._waiting if not self._ways[kind]()]
        return not self._waiting

    def clear(self) -> None:
        """Remove what would stay."""
        for process in self._processes:
            process.kill()
            process.wait()
        self._admin.strip(self._installation.namespace, POD)

    def _more_programs_than_slots(self) -> bool:
        for name in list(self._work.accepted)[: LIMIT + 1]:
            own = {**os.environ, "EXECUTION_ID": name, "EXECUTION_ATTEMPT": "99"}
            self._processes.append(subprocess.Popen(["sleep", "15"], env=own))
        return True

    def _a_pod_that_stays(self) -> bool:
        container: Json = {"name": "program", "image": BUSYBOX, "command": ["true"]}
        pod: Json = {"metadata": {"name": POD, "finalizers": [FINALIZER]}, "spec": {"containers": [container]}}
        with contextlib.suppress(ApiException):
            self._admin.create(self._installation.namespace, pod)
            return True
        return False

    def _a_second_end(self) -> bool:
        queue = self._installation.queue
        for entry in queue.journal.entries():
            if entry.fields.get("state") in TERMINAL:
                again = {"verb": entry.verb, "id": entry.execution_id, "at": str(entry.at_ms), **entry.fields}
                queue.scripts.client.xadd(queue.scripts.keys.named("journal"), again)  # type: ignore[arg-type]
                return True
        return False

    def _one_that_is_lost(self) -> bool:
        self._work.accepted["planted"] = Planned(0)
        return True
