"""What a user sees of the cluster: ``bandmaster status`` and ``bandmaster logs -f``."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cluster_admin import Admin
from deploy_kubectl import cluster_or_skip
from installation import MINUTES, Installation

from bandmaster.configs.children import child_environment
from bandmaster.scheduler.model.states import State
from waiting import wait_until

COMMAND = [sys.executable, "-W", "ignore", "-m", "bandmaster"]


class User:
    """Somebody who types commands."""

    def __init__(self, installation: Installation, url: str, folder: Path) -> None:
        self._installation = installation
        self._own = {("redis", "url"): url, ("paths", "var_dir"): str(folder)}
        self._folder = folder

    def types(self, *arguments: str, **changes: object) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=self._folder,
            env=self._environment(**changes),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * MINUTES,
            check=False,
        )

    @contextmanager
    def beginning(self, *arguments: str, stderr: int | None = None) -> Generator["subprocess.Popen[str]"]:
        """Run a command that goes on."""
        with subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self._folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def _environment(self, **changes: object) -> dict[str, str]:
        return child_environment({**self._installation.configured(**changes), **self._own})


@pytest.fixture
def user(installation: Installation, redis_url: str, tmp_path: Path) -> User:
    return User(installation, redis_url, tmp_path)


def test_status_names_the_cluster_and_says_whether_it_answers(user: User, namespace: str, tmp_path: Path) -> None:
    said = user.types("status")
    assert said.returncode == 0, said.stderr
    (line,) = [line for line in said.stdout.splitlines() if "Kubernetes at" in line]
    assert f"namespace {namespace}" in line
    assert line.endswith(": answers")

    away = tmp_path / "away"
    cluster = {"name": "x", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "x", "context": {"cluster": "x", "user": "x"}}
    away.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [cluster],
                "users": [{"name": "x", "user": {}}],
                "contexts": [context],
                "current-context": "x",
            }
        )
    )
    said = user.types("status", "--json", kubeconfig=str(away))
    assert said.returncode == 0, said.stderr
    backend = json.loads(said.stdout)["backend"]
    assert backend["description"] == f"Kubernetes at http://127.0.0.1:1, namespace {namespace}"
    assert not backend["answers"]
    assert "cannot be reached" in backend["problem"]


def test_logs_follow_a_running_pod_to_its_end_and_are_there_afterwards(
    user: User, installation: Installation, admin: Admin, namespace: str
) -> None:
    installation.worker()
    execution_id = installation.submit("echo first; until [ -e /tmp/told ]; do sleep 0.1; done; echo second; exit 3")
    with user.beginning("logs", "-f", execution_id) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "first\n"
        assert installation.state(execution_id) is State.POD, "it was told while it ran"
        pod = installation.meta(execution_id)["pod"]
        cluster_or_skip().run("exec", f"--namespace={namespace}", pod, "--", "touch", "/tmp/told")
        assert following.stdout.read() == "second\n"
        assert following.wait(timeout=30) == 0
    installation.wait_until_all([execution_id])
    assert user.types("logs", execution_id).stdout == "first\nsecond\n"
    # And without its pod, what was stored.
    installation.wait_until_settled()
    admin.delete(namespace, installation.meta(execution_id)["pod"], grace_period_seconds=0)
    wait_until(lambda: not installation.pods_of(execution_id), timeout_seconds=MINUTES, what="the removal of the pod")
    assert user.types("logs", execution_id).stdout == "first\nsecond\n"


def test_show_and_submit_say_what_a_pod_waits_for(installation: Installation, user: User) -> None:
    installation.worker(pending_deadline_seconds=3_600)
    execution_id = installation.submit("true", cpu_request="1000", cpu_limit="1000")
    installation.wait_for_pod(execution_id, phase="Pending")

    def waits() -> str:
        return json.loads(user.types("show", execution_id, "--json").stdout)["pod_waits_for"] or ""

    wait_until(lambda: "Insufficient cpu" in waits(), timeout_seconds=MINUTES, what="the scheduler's word")
    said = user.types("show", execution_id)
    assert "Insufficient cpu" in said.stdout
    waiting = ("submit", "--wait", "--image", "localhost/missing:1", "--id", "imageless", "--", "true")
    with user.beginning(*waiting, stderr=subprocess.PIPE) as command:
        assert command.stderr is not None
        # A busy kubelet has not tried to pull it by the first line: each time that the words change, there is another.
        line = next(line for line in command.stderr if "waits" in line and "localhost/missing:1" in line)
        assert "imageless waits: " in line
