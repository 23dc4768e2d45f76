"""A caller of a release's admin API, from outside of the cluster: with a token, through a forwarded port.

In the flow: the deployment tests submit, follow and look by it, as any program does. An execution here runs until its
test lets it go on.
"""

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

import httpx
from deploy_manual import manual_command
from deploy_release import Release
from event_stream import Stream, followed

from bandmaster.admin.answers.executions import ExecutionAnswer, Timeline
from bandmaster.admin.client import calls
from bandmaster.admin.client.blocking import Client
from bandmaster.scheduler.model.states import TERMINAL
from waiting import wait_until

API_PORT: Final = 8640
"""Of the pods."""
END_SECONDS: Final = 90.0


@dataclass
class Line:
    """A forwarded port, and who speaks through it."""

    client: Client
    http: httpx.Client

    def readiness(self) -> str:
        """What the API says of itself."""
        return self.http.get("/readyz").json()["status"]

    @contextlib.contextmanager
    def following(self, execution_id: str, last: str | None = None) -> Generator[Stream]:
        """Follow what an execution prints."""
        with followed(self.http, f"/api/v1/executions/{execution_id}/logs/follow", last) as stream:
            yield stream

    def ended(self, execution_id: str) -> ExecutionAnswer:
        """Wait until it has ended."""

        def look() -> ExecutionAnswer | None:
            found = self.client.send(calls.show(execution_id))
            return found if found.state in TERMINAL else None

        found = wait_until(look, timeout_seconds=END_SECONDS, what=f"the end of {execution_id}")
        assert found is not None
        return found

    def history(self) -> dict[str, ExecutionAnswer]:
        """What the ledger has of all executions."""
        page = self.client.send(calls.executions(limit=100))
        assert page.source == "ledger"
        return {each.execution_id: each for each in page.executions}

    def told(self, execution_id: str) -> Timeline:
        """Wait until the ledger knows its end; what it has of it."""

        def look() -> Timeline | None:
            found = self.history().get(execution_id)
            has_ended = found is not None and found.state in TERMINAL
            return self.client.send(calls.timeline(execution_id)) if has_ended else None

        found = wait_until(look, timeout_seconds=END_SECONDS, what=f"the end of {execution_id} in the ledger")
        assert found is not None
        return found


class Caller:
    """Somebody with a token, made as the manual says."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.token = release.run(*manual_command("token create")).strip()

    @contextlib.contextmanager
    def line(self, pod: str | None = None) -> Generator[Line]:
        """Speak to the Service, as the manual says, or to one of its pods."""
        _, service, ports = manual_command("port-forward")
        target, port = (service, int(ports.partition(":")[2])) if pod is None else (f"pod/{pod}", API_PORT)
        with self.release.forwarded(target, port) as local:
            url = f"http://127.0.0.1:{local}"
            with (
                Client(url, self.token) as client,
                httpx.Client(base_url=url, headers={"Authorization": f"Bearer {self.token}"}, timeout=60) as http,
            ):
                yield Line(client, http)

    def touch(self, pod: str | None, name: str) -> None:
        """Let an execution go on that waits for a file."""
        assert pod is not None
        self.release.kubectl.run("-n", self.release.namespaces.executions, "exec", pod, "--", "touch", f"/tmp/{name}")
