"""Local pods for a test, which leaves no process behind: every one that it started is looked for at its end."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from bandmaster.k8s.local.launching import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import PodOutcome, PodScript, PodSpec, PodStatus
from waiting import wait_until


def processes_under(root: Path) -> list[psutil.Process]:
    """All living processes of the pods under ``root``: supervisors by their arguments, programs by their HOME."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            named = any(str(root) in argument for argument in process.cmdline())
            housed = process.environ().get("HOME", "").startswith(str(root))
            if (named or housed) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "var"


@pytest.fixture
def pods(root: Path) -> Iterator[LocalPods]:
    """Pods with a short grace period; at the end all are deleted, and no process may be left."""
    pods = LocalPods(root, LocalLimits(grace_seconds=0.2))
    yield pods
    for status in pods.list():
        pods.delete(status.name)
    wait_until(lambda: not pods.list(), what="the deletion of all pods")
    wait_until(lambda: not processes_under(root), timeout_seconds=5, what="the end of all processes")


Run = Callable[..., PodSpec]


@pytest.fixture
def spec() -> Run:
    """Makes a specification of an execution of its own: a shell line, or whatever else is given."""

    def make(line: str | None = None, *, python: str | None = None, **fields: object) -> PodSpec:
        values: dict[str, object] = {
            "execution_id": f"test-{uuid4()}",
            "attempt": 1,
            "action": "pod",
            "timeout_seconds": 30.0,
        }
        if line is not None:
            values["command"] = ("sh", "-c", line)
        if python is not None:
            values["script"] = PodScript(python, runtime="python")
        return PodSpec(**(values | fields))  # type: ignore[arg-type]

    return make


def ended(pods: LocalPods, name: str) -> PodStatus:
    """Wait until a pod has ended."""

    def look() -> PodStatus | None:
        status = pods.get(name)
        assert status is not None, f"{name} is gone"
        return status if status.phase.ended else None

    status = wait_until(look, what=f"the end of {name}")
    assert status is not None
    return status


def outcome_of(pods: LocalPods, spec: PodSpec) -> PodOutcome:
    """Run a pod to its end."""
    outcome = ended(pods, pods.create(spec).name).outcome
    assert outcome is not None
    return outcome
