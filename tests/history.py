"""The history checker: replays the journal in order and says whether what happened was allowed.

It knows nothing of the indexes in Redis. From the transitions alone it follows who waited, who held which slot and
gate, and checks each entry against that: order, limits, one grant at a time, attempts that rise, exactly one end.
"""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from model.moves import may_become

from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.model.priority import BAND_WIDTH_MS
from bandmaster.scheduler.model.states import HOLDING, TERMINAL, State

SPEAKS_OF_NOTHING = (
    "reject",
    "drop",
    "limit",
    "pause",
    "resume",
    "set",
    "drop_action",
    "erase",
    "rebuild",
    "sign_in",
    "sign_out",
)
"""Entries that change no living execution."""


@dataclass(slots=True)
class Followed:
    """One execution as far as the replay has come."""

    lane: str
    gates: list[str]
    score: float
    state: State
    attempt: int = 0


@dataclass
class History:
    """What the journal tells. Reading it raises AssertionError at the first entry that was not allowed."""

    max_active: int
    limits: Mapping[str, int]
    executions: dict[str, Followed] = field(default_factory=dict[str, Followed])
    active: set[str] = field(default_factory=set[str])
    held: Counter[str] = field(default_factory=Counter[str])
    verbs: Counter[str] = field(default_factory=Counter[str])
    grants: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    _pending: defaultdict[str, list[tuple[float, str]]] = field(default_factory=lambda: defaultdict(list))

    def read(self, entries: Iterable[JournalEntry]) -> "History":
        """Follow the journal to its end."""
        for entry in entries:
            self.verbs[entry.verb] += 1
            if entry.verb in SPEAKS_OF_NOTHING:
                continue
            if entry.verb == "park":
                self._park(entry)
            else:
                self._change(entry, self.executions[entry.execution_id])
        return self

    def _park(self, entry: JournalEntry) -> None:
        fields = entry.fields
        assert entry.execution_id not in self.executions, f"{entry.execution_id} was accepted twice"
        gates = [f"action:{fields['action']}", *fields.get("gates", "").splitlines()]
        if fields["user"]:
            gates.append(f"user:{fields['user']}")
        score = float(fields["score"] or 0)
        followed = Followed(fields["lane"], gates, score, State(fields["state"]))
        self.executions[entry.execution_id] = followed
        if followed.state is State.PENDING:
            line = self._pending[followed.lane]
            same_band = [one for one, _ in line if one // BAND_WIDTH_MS == score // BAND_WIDTH_MS]
            assert not same_band or score > same_band[-1], "accepted later, and placed before"
            insort(line, (score, entry.execution_id))

    def _change(self, entry: JournalEntry, followed: Followed) -> None:
        name, then = entry.execution_id, State(entry.fields["state"])
        assert followed.state not in TERMINAL, f"{name} ended as {followed.state}, then: {entry.verb}"
        assert then == followed.state or may_become(followed.state, then), f"{name}: {followed.state} to {then}"
        if entry.verb == "admit":
            self._admit(name, followed, int(entry.fields["attempt"]))
        else:
            assert int(entry.fields["attempt"]) == followed.attempt, f"{name}: {entry.verb} by another attempt"
        if followed.state in HOLDING and then not in HOLDING:
            self._give_back(name, followed)
        if followed.state is State.PENDING and then is not State.PENDING:
            self._leave_line(name, followed)
        if entry.verb == "reprioritise":
            self._move(name, followed, int(entry.fields["band"]) - int(entry.fields["from"]))
        if entry.fields.get("score"):
            followed.score = float(entry.fields["score"])
        if then is State.PENDING and followed.state is not State.PENDING:
            insort(self._pending[followed.lane], (followed.score, name))
        followed.state = then

    def _admit(self, name: str, followed: Followed, attempt: int) -> None:
        assert attempt == followed.attempt + 1, f"{name}: attempt {attempt} after {followed.attempt}"
        assert name not in self.active, f"{name} was granted twice"
        assert len(self.active) < self.max_active, "granted at the limit over everything"
        assert self._is_open_to(followed), f"{name} was granted at the limit of one of {followed.gates}"
        for _, earlier in self._pending[followed.lane]:
            if earlier == name:
                break
            assert not self._is_open_to(self.executions[earlier]), f"{name} was granted before {earlier}"
        followed.attempt = attempt
        self.active.add(name)
        self.held.update(followed.gates)
        self.grants.append((name, attempt))

    def _is_open_to(self, followed: Followed) -> bool:
        return all(gate not in self.limits or self.held[gate] < self.limits[gate] for gate in followed.gates)

    def _give_back(self, name: str, followed: Followed) -> None:
        self.active.remove(name)
        self.held.subtract(followed.gates)
        assert min(self.held.values()) >= 0, "a gate was given back twice"

    def _leave_line(self, name: str, followed: Followed) -> None:
        line = self._pending[followed.lane]
        index = bisect_left(line, (followed.score, name))
        assert line[index][1] == name
        del line[index]

    def _move(self, name: str, followed: Followed, bands: int) -> None:
        if followed.state is State.PENDING:
            self._leave_line(name, followed)
            followed.score += bands * BAND_WIDTH_MS
            insort(self._pending[followed.lane], (followed.score, name))
        else:
            followed.score += bands * BAND_WIDTH_MS

    def living(self) -> list[str]:
        """What has not ended."""
        return [name for name, followed in self.executions.items() if followed.state not in TERMINAL]
