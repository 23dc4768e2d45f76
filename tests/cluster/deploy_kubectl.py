"""``kubectl``, and the cluster that KUBECONFIG names: what a user of the manifests has.

In the flow: every deployment test goes through it. A missing cluster or tool skips the test, or fails it if
BANDMASTER_REQUIRE_CLUSTER is 1.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

Manifest = dict[str, Any]

COMMAND_SECONDS: Final = 120.0
READY_SECONDS: Final = 120.0


class Kubectl:
    """One cluster, with its administrator's rights."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig

    def run(self, *arguments: str, stdin: str | None = None, seconds: float = COMMAND_SECONDS) -> str:
        """Run a command.

        Returns:
            What it printed.

        Raises:
            AssertionError: If it failed, with what it said.
        """
        done = self.attempt(*arguments, stdin=stdin, seconds=seconds)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}"
        return done.stdout

    def attempt(
        self, *arguments: str, stdin: str | None = None, seconds: float = COMMAND_SECONDS
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command that may fail."""
        return subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, text=True, timeout=seconds, check=False
        )

    def command(self, *arguments: str) -> Sequence[str]:
        """The command line, for a process that goes on."""
        return ("kubectl", f"--kubeconfig={self.kubeconfig}", *arguments)

    def get(self, *arguments: str) -> Any:
        """Objects, as the API gives them."""
        return json.loads(self.run("get", *arguments, "-o", "json"))

    def items(self, *arguments: str) -> list[Manifest]:
        """The objects of a list."""
        return self.get(*arguments)["items"]

    def apply(self, manifests: Iterable[Manifest], *options: str) -> list[Manifest]:
        """Apply objects; what the API server made of them."""
        wanted = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        answer = json.loads(self.run("apply", "-f", "-", "-o", "json", *options, stdin=json.dumps(wanted)))
        return answer["items"] if answer["kind"] == "List" else [answer]

    def create(self, manifests: Iterable[Manifest]) -> list[Manifest]:
        """Create objects; what the API server answered, which for a review is its result."""
        wanted = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        return list(_objects(self.run("create", "-f", "-", "-o", "json", stdin=json.dumps(wanted))))

    def api_versions(self) -> frozenset[str]:
        """Every group and version that the cluster serves."""
        return frozenset(self.run("api-versions").split())


def _objects(text: str) -> Iterator[Manifest]:
    """The objects that kubectl printed one after the other."""
    decoder, text = json.JSONDecoder(), text.strip()
    while text:
        found, end = decoder.raw_decode(text)
        yield found
        text = text[end:].lstrip()


def cluster_or_skip() -> Kubectl:
    """The cluster that KUBECONFIG names."""
    named = os.environ.get("KUBECONFIG", "")
    if not named:
        skip_or_fail("KUBECONFIG names no cluster")
    need("kubectl")
    kubectl = Kubectl(Path(named))
    deadline = time.monotonic() + READY_SECONDS
    while (answer := kubectl.attempt("get", "--raw", "/readyz", seconds=20)).returncode != 0:
        # Asked before a test has the cluster's peace: another one may be restarting a part of it.
        if time.monotonic() >= deadline:
            skip_or_fail(f"the cluster of KUBECONFIG does not answer: {answer.stderr.strip()}")
        time.sleep(1)
    return kubectl


@contextlib.contextmanager
def undisturbed(kubectl: Kubectl) -> Generator[None]:
    """Hold off the tests that disturb the whole cluster, for longer than one test: the same locks as `peace`."""
    name = hashlib.sha256(str(kubectl.kubeconfig).encode()).hexdigest()[:16]
    cluster = Path(tempfile.gettempdir(), f"bandmaster-cluster-{name}.lock")
    with cluster.open("w") as lock:
        with cluster.with_suffix(".gate").open("w") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def need(program: str) -> str:
    """The path of a program."""
    found = shutil.which(program)
    if found is None:
        skip_or_fail(f"there is no {program} on the PATH")
    return found


def skip_or_fail(reason: str) -> NoReturn:
    """What is missing skips a test; where a cluster is required, it fails it."""
    if os.environ.get("BANDMASTER_REQUIRE_CLUSTER") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
