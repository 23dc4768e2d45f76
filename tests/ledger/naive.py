"""The naive history: what a journal tells, entry by entry, without batches, positions or databases."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.model.states import HOLDING

TELLS_NO_STATE = ("reject", "tell", "drop", "forget")


@dataclass
class Naive:
    """The last state and attempt of each execution, and how often each gate was taken and given back."""

    states: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    taken: Counter[str] = field(default_factory=Counter[str])
    held: Counter[str] = field(default_factory=Counter[str])
    _gates: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def read(self, entries: Iterable[JournalEntry]) -> "Naive":
        """Follow a journal to its end."""
        for entry in entries:
            if entry.execution_id and "state" in entry.fields and entry.verb not in TELLS_NO_STATE:
                self._enter(entry)
        return self

    def _enter(self, entry: JournalEntry) -> None:
        one, fields = entry.execution_id, entry.fields
        before = self.states.get(one, ("", 0))[0]
        self.states[one] = (fields["state"], int(fields["attempt"]))
        if entry.verb == "park":
            of_user = [f"user:{fields['user']}"] if fields["user"] else []
            self._gates[one] = [f"action:{fields['action']}", *of_user, *fields.get("gates", "").splitlines()]
        if fields["state"] in HOLDING and before not in HOLDING:
            self.taken.update(self._gates[one])
            self.held.update(self._gates[one])
        elif before in HOLDING and fields["state"] not in HOLDING:
            self.held.subtract(self._gates[one])
