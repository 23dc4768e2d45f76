"""An installation as one has it on a machine: `bandmaster up` in a folder, and an API that the tests may restart."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from receiver import SECRET

from waiting import GENEROUS_SECONDS, wait_until

V1 = "/api/v1"
NOTIFYING = {"BANDMASTER_NOTIFY__SECRET": SECRET, "BANDMASTER_NOTIFY__PRIVATE_NETWORKS": "127.0.0.0/8"}
"""Receivers of the tests are on this machine."""


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass
class Installation:
    """One folder with everything that runs in it."""

    folder: Path
    port: int = field(default_factory=_free_port)
    _api: "subprocess.Popen[bytes] | None" = None
    _client: httpx.Client | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def admin(self) -> str:
        """The text of the token of whoever may read the folder."""
        return (self.folder / "var" / "api-token").read_text().strip()

    def start_api(self, **settings: str) -> None:
        environment = os.environ | {"BANDMASTER_API__PORT": str(self.port)} | NOTIFYING | settings
        self._client = self._client or httpx.Client(base_url=self.url, timeout=GENEROUS_SECONDS)
        with (self.folder / "api.log").open("ab") as log:
            self._api = subprocess.Popen(
                [sys.executable, "-m", "bandmaster.admin"], cwd=self.folder, env=environment, stdout=log, stderr=log
            )
        wait_until(self._answers, what="the API")

    @contextmanager
    def with_ledger(self, file: str) -> Generator["Installation"]:
        """Serve a second API, with another ledger."""
        with self.api_with(BANDMASTER_LEDGER__URL=f"sqlite:///{self.folder / file}") as other:
            yield other

    @contextmanager
    def api_with(self, **settings: str) -> Generator["Installation"]:
        """Serve a second API, with other settings."""
        other = Installation(self.folder)
        other.start_api(**settings)
        try:
            yield other
        finally:
            other.stop_api()
            other.close()

    def stop_api(self) -> None:
        assert self._api is not None
        self._api.terminate()
        self._api.wait(GENEROUS_SECONDS)

    def close(self) -> None:
        assert self._client is not None
        self._client.close()

    def _answers(self) -> bool:
        try:
            assert self._client is not None
            return self._client.get("/healthz").status_code == 200
        except httpx.TransportError:
            return False

    def call(self, method: str, path: str, body: Any = None, token: str | None = None, **more: str) -> Any:
        """Call the API as an admin, or by another token; `more`, further headers."""
        headers = {"Authorization": f"Bearer {token or self.admin}"} | more
        assert self._client is not None
        answer = self._client.request(method, f"{V1}{path}", json=body, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def submit(self, *command: str, **fields: Any) -> str:
        """Send an execution; its id."""
        return self.call("POST", "/executions/", {"command": list(command), **fields})["execution_id"]

    def state(self, execution_id: str) -> str:
        return self.call("GET", f"/executions/{execution_id}")["state"]

    def listed(self, execution_id: str, *states: str) -> None:
        """Wait until the ledger lists it in one of these states."""

        def look() -> bool:
            found = self.call("GET", f"/executions/?text={execution_id}")["executions"]
            return any(each["state"] in states for each in found)

        wait_until(look, what=f"{execution_id} in the ledger")

    def token(self, owner: str, *scopes: str) -> str:
        return self.call("POST", "/tokens", {"owner": owner, "scopes": list(scopes)})["token"]


@contextmanager
def installed(folder: Path) -> Generator[Installation]:
    """Run one until the end of the block."""
    installation = Installation(folder)
    with (folder / "up.log").open("wb") as log:
        up = subprocess.Popen(
            [str(Path(sys.executable).parent / "bandmaster"), "up"],
            cwd=folder,
            env=os.environ | {"BANDMASTER_API__PORT": "0"} | NOTIFYING,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:

        def is_ready() -> bool:
            assert up.poll() is None, (folder / "up.log").read_text()
            return "ready:" in (folder / "up.log").read_text() and (folder / "var" / "api-token").exists()

        wait_until(is_ready, what="the installation")
        installation.start_api()
        yield installation
        installation.stop_api()
        installation.close()
    finally:
        up.send_signal(signal.SIGINT)
        try:
            up.wait(GENEROUS_SECONDS)
        finally:
            if up.poll() is None:
                os.killpg(up.pid, signal.SIGKILL)
