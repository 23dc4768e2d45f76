"""Collects the demo's observations: reads the growing journal into one record per execution.

In the flow: the live display and the checks both read this. It uses nothing of the plan, so a check compares two
independent accounts.
"""

from dataclasses import dataclass, field

from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.model.states import TERMINAL, State


@dataclass(slots=True)
class Seen:
    """One execution, according to the journal."""

    state: State | None = None
    reason: str = ""
    band: int = -1
    parked_ms: int = 0
    admitted_ms: list[int] = field(default_factory=list[int])
    ended_ms: int | None = None
    verbs: list[str] = field(default_factory=list[str])


class Observed:
    """All executions, in the order of the journal."""

    def __init__(self) -> None:
        self.executions: dict[str, Seen] = {}
        self.started: list[str] = []
        """Ids in the order of their first admission."""
        self.most_at_once = 0
        self._holding: set[str] = set()

    def read(self, entry: JournalEntry) -> None:
        """Process the next entry."""
        if not entry.execution_id:
            return  # an operator's change
        seen = self.executions.setdefault(entry.execution_id, Seen())
        seen.verbs.append(entry.verb)
        seen.band = int(entry.fields["band"])
        if "state" in entry.fields:
            seen.state = State(entry.fields["state"])
        if entry.verb == "park":
            seen.parked_ms = entry.at_ms
        elif entry.verb == "admit":
            if not seen.admitted_ms:
                self.started.append(entry.execution_id)
            seen.admitted_ms.append(entry.at_ms)
        if seen.state in TERMINAL:
            seen.ended_ms = entry.at_ms
            seen.reason = entry.fields.get("reason", "")
        self._count(entry.execution_id, seen)

    def _count(self, execution_id: str, seen: Seen) -> None:
        if seen.state in (State.RUNNING, State.POD, State.CANCELLING):
            self._holding.add(execution_id)
        else:
            self._holding.discard(execution_id)
        self.most_at_once = max(self.most_at_once, len(self._holding))

    @property
    def holding(self) -> set[str]:
        """Ids that hold a slot now."""
        return self._holding

    @property
    def ended_count(self) -> int:
        """How many have ended."""
        return sum(seen.ended_ms is not None for seen in self.executions.values())
