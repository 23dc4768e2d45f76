"""What the API says about the pods of a namespace, all along: how many there were at once, and of which attempt.

In the flow: a test starts the record before it sends anything, and reads it when everything has ended.
"""

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from deploy_kubectl import Kubectl
from deploy_watch import Watch

ENDED: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Seen:
    """One change of one pod."""

    kind: str
    name: str
    uid: str
    phase: str

    @property
    def is_over(self) -> bool:
        """Whether it holds no slot any more, whatever else is kept of it."""
        return self.kind == "DELETED" or self.phase in ENDED


class PodRecord:
    """The changes in the order in which the API told them."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def most_at_once(self) -> int:
        """The largest number of pods that were there and had not ended."""
        alive: set[str] = set()
        most = 0
        for each in self.seen:
            if each.is_over:
                alive.discard(each.uid)
            else:
                alive.add(each.uid)
            most = max(most, len(alive))
        return most

    def uids(self) -> dict[str, set[str]]:
        """Pod name, which is that of an execution's attempt → every pod that bore it."""
        found: dict[str, set[str]] = {}
        for each in self.seen:
            found.setdefault(each.name, set()).add(each.uid)
        return found


@contextlib.contextmanager
def recorded_pods(kubectl: Kubectl, namespace: str) -> Generator[PodRecord]:
    """Record until the block ends."""
    record = PodRecord()
    columns = "{.type} {.object.metadata.name} {.object.metadata.uid} {.object.status.phase}"
    watch = Watch(
        kubectl, namespace, "pods", columns, lambda words: record.seen.append(Seen(*words)), "--output-watch-events"
    )
    try:
        yield record
    finally:
        watch.stop()
