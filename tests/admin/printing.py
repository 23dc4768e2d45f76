"""Work that prints, for the tests of those who follow what it prints."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from calling import Api

from bandmaster.k8s.local.limits import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import PodSpec, PodStatus
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from waiting import wait_until

HELD = "until [ -e go ]; do sleep 0.01; done"
"""Until the test lets it go on."""


class Work:
    """Executions of ann, whose pods the test makes as a worker would."""

    def __init__(self, api: Api, folder: Path) -> None:
        self.api = api
        self.pods = LocalPods(folder, LocalLimits(grace_seconds=0.2))
        self._folder = folder

    def send(self, execution_id: str = "x") -> None:
        self.api.queue.enqueue({"execution_id": execution_id, "command": ["true"], "metadata": {"user_id": "ann"}})

    def grant(self) -> None:
        self.api.queue.maintenance.promote()
        assert self.api.queue.try_schedule() is not None

    def run(self, line: str, execution_id: str = "x", attempt: int = 1) -> PodStatus:
        """Hand an execution that was granted over to its pod."""
        pod = self.pods.create(
            PodSpec(
                execution_id=execution_id,
                attempt=attempt,
                action="pod",
                timeout_seconds=60,
                command=("sh", "-c", line),
            )
        )
        self.api.queue.transitions.hand_over(execution_id, attempt, pod.name, pod.uid)
        return pod

    def let_go(self, pod: PodStatus) -> None:
        (self._folder / "pods" / pod.name / "work" / "go").touch()

    def ended(self, pod: PodStatus) -> None:
        def look() -> bool:
            found = self.pods.get(pod.name)
            return found is not None and found.phase.ended

        wait_until(look, what="the pod's end")

    def gone(self, pod: PodStatus) -> None:
        self.pods.delete(pod.name)
        wait_until(lambda: self.pods.get(pod.name) is None, what="the pod's disappearance")

    def settle(self, execution_id: str = "x", attempt: int = 1, result: bytes = b'{"exit_code": 0}') -> None:
        self.api.queue.transitions.settle(
            Release(execution_id, attempt, State.COMPLETED, reason="Completed", result=result)
        )

    def started(self, line: str, execution_id: str = "x") -> PodStatus:
        self.send(execution_id)
        self.grant()
        return self.run(line, execution_id)


@pytest.fixture
def work(api: Api, tmp_path: Path) -> Iterator[Work]:
    work = Work(api, tmp_path)
    yield work
    for status in work.pods.list():
        work.pods.delete(status.name)
    wait_until(lambda: not work.pods.list(), what="the deletion of all pods")


@pytest.fixture
def ann(api: Api) -> str:
    return api.token("ann", "read")


def path_of(execution_id: str = "x") -> str:
    return f"/executions/{execution_id}/logs/follow"
