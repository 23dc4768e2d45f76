"""The parts of a test cluster as processes of this machine, for tests that stop one of them.

Where they are is told by BANDMASTER_TEST_CLUSTER_STATE: a folder with a file ``{component}.pid`` each. Without it, such
tests are skipped: nobody stops the parts of a cluster that runs elsewhere.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cluster_admin import TIMEOUT, Admin
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from waiting import wait_until

RESET_BEFORE_HANDSHAKE = r"unclosed <ssl.SSLSocket fd=\d+, family=2, type=1, proto=\d+, laddr=\('[\d.]+', \d+\)>"
"""What a Python without the mend of https://github.com/python/cpython/issues/113280 warns of if a server dies between
`connect` and the TLS handshake: a socket without a peer. One that has its peer is our own fault."""


class Components:
    """The processes of a cluster."""

    def __init__(self, folder: Path, admin: Admin) -> None:
        self._folder = folder
        self._admin = admin

    @contextlib.contextmanager
    def stopped(self, component: str) -> Generator[None]:
        """A part of the cluster sleeps, and goes on afterwards."""
        pid = self._pid(component)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)
            wait_until(self._healthy, timeout_seconds=120, what="the cluster's recovery")

    @contextlib.contextmanager
    def lost(self, namespace: str) -> Generator[None]:
        """The node is silent and counts as lost: what its controller notes after 40 s is noted at once.

        Args:
            namespace: Whose pods are not ready any more; all pods that do not tolerate it are evicted.
        """
        with self.stopped("kubelet"):
            (node,) = self._admin.core.list_node(_request_timeout=TIMEOUT).items
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            silent = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
            self._admin.core.patch_node_status(
                node.metadata.name, {"status": {"conditions": [silent]}}, _request_timeout=TIMEOUT
            )
            for pod in self._admin.pods(namespace):
                unready = {"type": "Ready", "status": "False", "lastTransitionTime": now}
                self._admin.patch_status(namespace, pod["metadata"]["name"], {"conditions": [unready]})
            yield

    def restart(self, component: str) -> None:
        """End a part of the cluster and start it again with the same arguments."""
        pid = self._pid(component)
        command = [os.fsdecode(part) for part in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: _is_over(pid), what=f"the end of {component}")
        # Its threads, and with them its port, may outlive it by a moment: then the next one gives up at once.
        wait_until(lambda: self._start(component, command), timeout_seconds=60, what=f"the start of {component}")
        wait_until(self._healthy, timeout_seconds=120, what="the cluster's recovery")

    def _start(self, component: str, command: list[str]) -> bool:
        with open(self._folder / f"{component}.log", "ab") as log:
            started = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._pid_file(component).write_text(f"{started.pid}\n")
        try:
            started.wait(timeout=3)
        except subprocess.TimeoutExpired:
            started.returncode = 0  # it outlives this process: Python is not to wait for it, nor to complain
            return True
        return False

    def _healthy(self) -> bool:
        try:
            if not self._admin.is_ready():
                return False
            nodes = self._admin.core.list_node(_request_timeout=TIMEOUT).items
        except (ApiException, HTTPError):  # whatever a server that is just starting answers
            return False
        conditions = [condition for node in nodes for condition in node.status.conditions]
        return all(condition.status == "True" for condition in conditions if condition.type == "Ready")

    def _pid(self, component: str) -> int:
        return int(self._pid_file(component).read_text())

    def _pid_file(self, component: str) -> Path:
        return self._folder / f"{component}.pid"


def components_or_skip(admin: Admin) -> Components:
    """The parts of the cluster; a test that needs them is skipped if nobody says where they are."""
    folder = os.environ.get("BANDMASTER_TEST_CLUSTER_STATE", "")
    if not folder:
        pytest.skip("BANDMASTER_TEST_CLUSTER_STATE does not say where the cluster's processes are")
    return Components(Path(folder), admin)


def _is_over(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True
