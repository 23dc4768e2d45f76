"""What the API server says of a namespace's pods, all along: an observer that shares no code with Bandmaster."""

import json
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from cluster_admin import Admin, Json
from urllib3.exceptions import HTTPError

from waiting import GENEROUS_SECONDS


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that the API server said."""

    at: float
    kind: str
    name: str
    uid: str
    alive: bool


class Observer:
    """Follows all pods of a namespace, from its beginning to its end."""

    def __init__(self, admin: Admin, namespace: str) -> None:
        self.moments: list[Moment] = []
        self._admin = admin
        self._namespace = namespace
        self._response: Any = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Observer":
        self._response = self._watch()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed = True
        # The reader may have seen that it is to end, and have closed the answer, this very moment.
        with suppress(OSError, ValueError, RuntimeError):
            self._response.shutdown()
        self._thread.join(timeout=30)

    @property
    def created(self) -> list[Moment]:
        """The creations, in order."""
        return [moment for moment in self.moments.copy() if moment.kind == "ADDED"]

    def most_alive(self) -> int:
        """The most pods that were alive at one time."""
        alive: set[str] = set()
        most = 0
        for moment in self.moments.copy():
            (alive.add if moment.alive else alive.discard)(moment.uid)
            most = max(most, len(alive))
        return most

    def from_end_to_creation_ms(self, limit: int) -> list[float]:
        """From each end to the creation that it made room for, while all slots were taken."""
        ends: list[float] = []
        ended: set[str] = set()
        for moment in self.moments.copy():
            if not moment.alive and moment.uid not in ended:
                ended.add(moment.uid)
                ends.append(moment.at)
        creations = [moment.at for moment in self.created][limit:]
        return [1000 * (created - end) for end, created in zip(ends, creations, strict=False)]

    def _watch(self) -> Any:
        return self._admin.core.list_namespaced_pod(
            self._namespace, watch=True, _preload_content=False, _request_timeout=(GENEROUS_SECONDS, 600)
        )

    def _run(self) -> None:
        rest = b""
        try:
            for chunk in self._response.stream(1 << 16):
                if self._closed:
                    return  # shut down under the reader, a TLS socket hands out what it cannot decipher any more
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._note(json.loads(line))
        except HTTPError:
            if not self._closed:
                raise

    def _note(self, event: Json) -> None:
        pod = event["object"]
        states = [each["state"] for each in pod["status"].get("containerStatuses", [])]
        over = (
            event["type"] == "DELETED"
            or any("terminated" in state for state in states)
            or (pod["status"]["phase"] in ("Succeeded", "Failed") and not any("running" in state for state in states))
        )
        metadata = pod["metadata"]
        self.moments.append(Moment(time.monotonic(), event["type"], metadata["name"], metadata["uid"], not over))
