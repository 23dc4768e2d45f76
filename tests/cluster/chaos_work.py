"""The work of a chaos run: executions that are submitted all along, and what each of them should come to."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from installation import Installation

from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.states import State

BACKLOG: Final = 12
"""So many wait, that a slot is never free for want of work."""
TENANTS: Final = {"tenant:a": 2, "tenant:b": 3}
BANDS: Final = ("CRITICAL", "HIGH", "NORMAL", "LOW", "BACKGROUND")
_LONGEST_SECONDS: Final = 8.0


@dataclass(slots=True)
class Planned:
    """One execution."""

    exit_code: int
    harmed: bool = False
    """Its pod was deleted, or it was cancelled: it need not come to what its program says."""
    cancelled: bool = False

    @property
    def state(self) -> State:
        """What it comes to by itself."""
        return State.FAILED if self.exit_code else State.COMPLETED


class Work:
    """What was submitted."""

    def __init__(self, installation: Installation, chance: random.Random, prefix: str) -> None:
        self.accepted: Final[dict[str, Planned]] = {}
        """That the server knows."""
        self.doubtful: Final[set[str]] = set()
        """It may: no answer came."""
        self.forgotten = 0
        """Accepted by the server before it was restored to an earlier time."""
        self._installation = installation
        self._chance = chance
        self._prefix = prefix
        self._number = 0
        for gate, limit in TENANTS.items():
            installation.queue.controls.set_limit(gate, limit)

    def top_up(self, backlog: int = BACKLOG) -> None:
        """Submit, until so many wait."""
        try:
            missing = backlog - self._installation.queue.views.status().queue_depth
        except QueueUnavailable:
            return
        for _ in range(missing):
            self.submit()

    def submit(self) -> None:
        """One more, with chance deciding what it does and where it waits."""
        self._number += 1
        name, chance = f"{self._prefix}{self._number}", self._chance
        planned = Planned(chance.choice((0, 0, 0, 3)))
        seconds = chance.uniform(0.5, _LONGEST_SECONDS)
        line = f"sleep {seconds:.1f}; echo over {name}; exit {planned.exit_code}"
        fields: dict[str, object] = {"execution_id": name, "priority": chance.choice(BANDS)}
        if chance.random() < 0.4:
            fields["gates"] = (chance.choice(list(TENANTS)),)
        if chance.random() < 0.25:
            fields |= {"script": line, "runtime": "sh"}
        else:
            fields["line"] = line
        try:
            self._installation.submit(**fields)  # type: ignore[arg-type]
        except QueueUnavailable:
            self.doubtful.add(name)
        else:
            self.accepted[name] = planned

    def harm(self, execution_id: str, *, cancel: bool = False) -> None:
        """Its end may be another from now on."""
        planned = self.accepted.get(execution_id)
        if planned is not None:
            planned.harmed = True
            planned.cancelled |= cancel

    def restored(self, lost: Iterable[JournalEntry]) -> None:
        """The server has forgotten these."""
        for entry in lost:
            if entry.verb == "park" and self.accepted.pop(entry.execution_id, None) is not None:
                self.forgotten += 1
            self.doubtful.discard(entry.execution_id)
