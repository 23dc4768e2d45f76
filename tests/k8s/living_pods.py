"""Local pods for a test, which leaves no process behind, and what it asks the machine about them."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psutil

from bandmaster.k8s.local.limits import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.local.records import Folder
from bandmaster.k8s.pods import PodOutcome, PodPhase, PodScript, PodSpec, PodStatus
from waiting import wait_until

#: A process that creates one pod (arguments: root, execution, shell line) when told so, prints its uid, and stays.
CREATE = """
import sys
from pathlib import Path
from bandmaster.k8s.backend import connect
from bandmaster.k8s.pods import PodSpec
pods = connect("local", root=Path(sys.argv[1]))
spec = PodSpec(execution_id=sys.argv[2], attempt=1, action="pod", timeout_seconds=60, command=("sh", "-c", sys.argv[3]))
print("ready", flush=True)
sys.stdin.readline()
print(pods.create(spec).uid, flush=True)
sys.stdin.readline()
"""


@contextmanager
def living_pods(root: Path) -> Generator[LocalPods]:
    """Pods with a short grace period; at the end all are deleted, and no process may be left."""
    pods = LocalPods(root, LocalLimits(grace_seconds=0.2))
    yield pods
    for status in pods.list():
        pods.delete(status.name)
    wait_until(lambda: not pods.list(), what="the deletion of all pods")
    wait_until(lambda: not processes_under(root), what="the end of all processes")


def spec(
    line: str | None = None,
    *,
    python: str | None = None,
    script: PodScript | None = None,
    command: tuple[str, ...] | None = None,
    execution_id: str | None = None,
    attempt: int = 1,
    timeout_seconds: float = 30.0,
    memory_limit: str | None = None,
    cpu_limit: str | None = None,
    items_file: str | None = None,
) -> PodSpec:
    """A specification of an execution of its own: a shell line, a Python script, or whatever else is given."""
    return PodSpec(
        execution_id=execution_id or f"test-{uuid4()}",
        attempt=attempt,
        action="pod",
        timeout_seconds=timeout_seconds,
        command=("sh", "-c", line) if line is not None else command,
        script=PodScript(python, runtime="python") if python is not None else script,
        memory_limit=memory_limit,
        cpu_limit=cpu_limit,
        items_file=items_file,
    )


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


def supervisor_of(root: Path, status: PodStatus) -> psutil.Process:
    """The process that stands over a pod that runs."""
    progress = Folder(str(root / "pods" / status.name)).read_progress()
    assert progress is not None
    return psutil.Process(progress.supervisor_pid)


def running(pods: LocalPods, name: str, *, printed: bytes = b"") -> PodStatus:
    """Wait until a pod runs, and has printed something."""

    def look() -> PodStatus | None:
        status = pods.get(name)
        assert status is not None, f"{name} is gone"
        assert not status.phase.ended, f"{name} has ended: {status.outcome}"
        there = status.phase is PodPhase.RUNNING and printed in b"".join(pods.logs(name))
        return status if there else None

    status = wait_until(look, what=f"the run of {name}")
    assert status is not None
    return status


def ended(pods: LocalPods, name: str) -> PodOutcome:
    """Wait until a pod has ended."""

    def look() -> PodOutcome | None:
        status = pods.get(name)
        assert status is not None, f"{name} is gone"
        return status.outcome

    outcome = wait_until(look, what=f"the end of {name}")
    assert outcome is not None
    return outcome


def outcome_of(pods: LocalPods, spec: PodSpec) -> PodOutcome:
    """Run a pod to its end."""
    return ended(pods, pods.create(spec).name)


def gone(pods: LocalPods, name: str) -> None:
    """Wait until a pod is gone."""
    wait_until(lambda: pods.get(name) is None, what=f"the disappearance of {name}")
