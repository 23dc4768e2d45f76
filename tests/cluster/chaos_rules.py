"""What must hold at every moment of a chaos run, whatever is harmed. Pure: a test plants what must not be.

What a restored server has forgotten is forgiven by name: the grants that it no longer knows, since their programs run
on beside those that it gives their slots to, and the ends that have to be told again.
"""

import threading
import time
from collections.abc import Iterable, Mapping, Set
from typing import Final, NamedTuple

from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.model.states import HOLDING, TERMINAL, State

Meta = Mapping[str, str]


class Attempt(NamedTuple):
    """One grant of an execution: what has one pod, and one program."""

    execution_id: str
    attempt: int


class Rules:
    """Told what is seen, it keeps what was not allowed. Who tells it holds `lock`, so that no restore comes between."""

    def __init__(self, slots: int) -> None:
        self.slots: Final = slots
        self.lock: Final = threading.RLock()
        self.violations: Final[dict[str, int]] = {}
        """What was not allowed → how often it was seen."""
        self.most_programs = 0
        self.restored_at = 0.0
        self._pods: dict[Attempt, str] = {}
        self._over: dict[str, State] = {}
        self._forgiven: set[Attempt] = set()

    def violated(self, what: str) -> None:
        """Keep it."""
        self.violations[what] = self.violations.get(what, 0) + 1

    def see_programs(self, programs: Set[Attempt]) -> None:
        """All that have a process at one moment: no more than slots, and no execution twice."""
        counted = programs - self._forgiven
        self.most_programs = max(self.most_programs, len(counted))
        if len(counted) > self.slots:
            self.violated(f"{len(counted)} programs at once in {self.slots} slots")
        for execution_id in {one.execution_id for one in counted}:
            attempts = sorted(one.attempt for one in counted if one.execution_id == execution_id)
            if len(attempts) > 1:
                self.violated(f"{execution_id}: attempts {attempts} run at the same time")

    def see_holders(self, programs: Set[Attempt], metas: Mapping[str, Meta]) -> None:
        """Programs that ran before and after the records were read: each holds its slot."""
        for one in programs - self._forgiven:
            meta = metas.get(one.execution_id, {})
            if meta.get("state") not in HOLDING or meta.get("attempt") != str(one.attempt):
                found = f"{meta.get('state')}, attempt {meta.get('attempt')}"
                self.violated(f"{one.execution_id}: attempt {one.attempt} runs, and its slot was given back ({found})")

    def see_pods(self, pods: Iterable[tuple[Attempt, str]]) -> None:
        """Attempts and their pods' UIDs, as listed: one pod an attempt."""
        for one, uid in pods:
            if one not in self._forgiven and self._pods.setdefault(one, uid) != uid:
                self.violated(f"{one.execution_id}: attempt {one.attempt} has had a second pod")

    def see_states(self, metas: Mapping[str, Meta]) -> None:
        """What has ended stays as it ended."""
        for execution_id, meta in metas.items():
            before = self._over.get(execution_id)
            if before is not None and meta.get("state") != before:
                self.violated(f"{execution_id} ended as {before} and is {meta.get('state')}")
            elif meta.get("state") in TERMINAL:
                self._over[execution_id] = State(meta["state"])

    def restored(self, lost: Iterable[JournalEntry]) -> None:
        """The server has forgotten these transitions: their grants may be made again, their ends told again."""
        self.restored_at = time.monotonic()
        for entry in lost:
            if entry.verb == "admit":
                one = Attempt(entry.execution_id, int(entry.fields["attempt"]))
                self._forgiven.add(one)
                self._pods.pop(one, None)
            if entry.verb == "park" or entry.fields.get("state") in TERMINAL:
                self._over.pop(entry.execution_id, None)
