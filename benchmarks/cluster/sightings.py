"""Observes when pods of a namespace are created and end, with a watch that shares no code with Bandmaster's.

In the flow: opened before pods are created, read when they have ended. A thread reads; it ends with the block.
"""

import json
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from urllib3.exceptions import HTTPError

from .place import Json, Place


@dataclass(frozen=True, slots=True)
class Sighting:
    """The first event in which a pod existed, or had ended."""

    at: float
    uid: str


class Sightings:
    """Watches all pods of a namespace from now on."""

    def __init__(self, place: Place) -> None:
        self.created: list[Sighting] = []
        self.ended: list[Sighting] = []
        self._over: set[str] = set()
        self._closed = False
        self._response: Any = place.core.list_namespaced_pod(
            place.namespace, watch=True, _preload_content=False, _request_timeout=(3, 3600)
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed = True
        self._response.shutdown()
        self._thread.join(timeout=10)

    def from_end_to_creation_ms(self, slots: int) -> list[float]:
        """The times from each end to the creation of the pod that took its slot, if executions wait for all slots."""
        pairs = zip(self.ended, self.created[slots:], strict=False)
        return [1000 * (created.at - ended.at) for ended, created in pairs]

    def _run(self) -> None:
        rest = b""
        try:
            for chunk in self._response.stream(1 << 16):
                if self._closed:
                    return  # a TLS socket that was shut down during a read may return undecrypted bytes
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._note(json.loads(line))
        except HTTPError:
            if not self._closed:
                raise

    def _note(self, event: Json) -> None:
        pod = event["object"]
        seen = Sighting(time.monotonic(), pod["metadata"]["uid"])
        if event["type"] == "ADDED":
            self.created.append(seen)
        states = [each["state"] for each in pod["status"].get("containerStatuses", [])]
        if seen.uid not in self._over and any("terminated" in state for state in states):
            self._over.add(seen.uid)
            self.ended.append(seen)
