"""Replays the journal entry by entry, and says of each whether it was allowed; it knows no index of Redis.

Unlike `history.History` it goes on after a violation, follows limits and pauses that change, and knows fair lanes: a
chaos run has all of that.
"""

import math
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from model.moves import may_become

from bandmaster.scheduler.engine.journal import JournalEntry, Verb
from bandmaster.scheduler.model.priority import BAND_WIDTH_MS
from bandmaster.scheduler.model.states import HOLDING, TERMINAL, State
from chaos.bounds import Bounds
from chaos.found import Found, Kind
from chaos.occurrences import is_taken_back
from chaos.turns import Turns

CHANGES: Final = (Verb.LIMIT, Verb.RATE, Verb.PAUSE, Verb.RESUME, Verb.SET)
OF_NOTHING: Final = (Verb.REJECT, Verb.DROP, Verb.DROP_ACTION, Verb.ERASE, Verb.SCHEDULE, Verb.SIGN_IN, Verb.SIGN_OUT)
"""Entries that change no execution."""

BACK: Final = (Verb.REAP, Verb.HAND_BACK)
"""By these it comes back to where it was, in a fair lane before all that counts."""
SAME_PLACE_MS: Final = 1.0
"""A place that is taken meanwhile is one step beside it."""


@dataclass(slots=True)
class Followed:
    """One execution as far as the replay has come."""

    lane: str
    gates: list[str]
    band: int
    state: State
    score: float = 0.0
    attempt: int = 0
    reason: str = ""
    completed: int = 0
    """The attempt under which it ended."""
    granted_score: float = -math.inf
    """Its place when it was granted last; what comes back keeps it, what is tried again gets another."""
    granted: set[int] = field(default_factory=set[int])
    taken_back: bool = False
    """An occurrence that was never let go: it may be parked again."""
    cancelled: bool = False
    """Somebody asked for its end."""


class Replay:
    """What the journal tells."""

    def __init__(self, found: Found, fair: Mapping[str, str], weights: Mapping[str, int]) -> None:
        """Nothing is read yet.

        Args:
            found: Is told what was not allowed.
            fair: Fair lanes, and the kind of gate whose keys take turns there.
            weights: Of such gates, if not 1.
        """
        self.executions: dict[str, Followed] = {}
        self.verbs: Counter[str] = Counter()
        self._found = found
        self._fair = fair
        self._turns = {lane: Turns(found, weights) for lane in fair}
        self._bounds = Bounds(found)
        self._lines: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        """By lane, what waits there in the order of its scores."""

    def read(self, entries: Iterable[JournalEntry]) -> "Replay":
        """Follow the journal to its end."""
        for entry in entries:
            self.verbs[entry.verb] += 1
            if entry.verb in CHANGES:
                self._bounds.change(entry)
            elif entry.verb in (Verb.PARK, Verb.BURY):
                self._enter(entry)
            elif entry.verb not in OF_NOTHING:
                self._follow(entry)
        return self

    def living(self) -> list[str]:
        """What has not ended."""
        return [name for name, followed in self.executions.items() if followed.state not in TERMINAL]

    def _enter(self, entry: JournalEntry) -> None:
        name, fields = entry.execution_id, entry.fields
        if name in self.executions and not self.executions[name].taken_back:
            self._found.add(Kind.ACCEPTED_TWICE, name)
            return
        gates = [f"action:{fields['action']}", *fields.get("gates", "").splitlines()]
        if fields["user"]:
            gates.append(f"user:{fields['user']}")
        followed = Followed(fields["lane"], gates, int(fields["band"]), State(fields["state"]))
        followed.reason = fields.get("reason", "")
        self.executions[name] = followed
        if followed.state is State.PENDING:
            followed.score = float(fields["score"])
            last = max((score for score, _ in self._lines[followed.lane] if _same_band(score, followed)), default=0.0)
            in_order = followed.lane in self._fair or followed.score > last
            self._found.unless(in_order, Kind.ORDER, f"{name} was accepted later, and placed before")
            self._join(name, followed, is_new=True)

    def _follow(self, entry: JournalEntry) -> None:
        name, fields = entry.execution_id, entry.fields
        followed = self.executions.get(name)
        if followed is None:
            self._found.add(Kind.NEVER_SENT, f"{entry.verb} of {name}, which was never accepted")
            return
        before, then, attempt = followed.state, State(fields["state"]), int(fields["attempt"])
        if before in TERMINAL:
            told = entry.verb == Verb.TELL and then is before
            self._found.unless(told, Kind.ENDED_AGAIN, f"{name} ended as {before}, then: {entry.verb} to {then}")
            return
        possible = then is before or may_become(before, then)
        self._found.unless(possible, Kind.STATE, f"{name}: {before} to {then} by {entry.verb}")
        expected = followed.attempt + (entry.verb == Verb.ADMIT)
        rises = attempt == expected
        self._found.unless(rises, Kind.ATTEMPT, f"{name}: {entry.verb} of attempt {attempt} instead of {expected}")
        followed.attempt = attempt
        if before is State.PENDING:
            self._leave(name, followed, started=entry.verb == Verb.ADMIT)
        if entry.verb == Verb.ADMIT:
            self._granted(name, followed, entry.at_ms)
        elif before in HOLDING and then not in HOLDING:
            self._bounds.give_back(followed.lane, followed.gates)
        followed.cancelled |= entry.verb == Verb.CANCEL
        followed.taken_back |= is_taken_back(entry)
        followed.band = int(fields["band"])
        followed.state, followed.reason = then, fields.get("reason", "")
        followed.score = float(fields.get("score") or followed.score)
        if then is State.PENDING:
            is_new = entry.verb not in BACK and abs(followed.score - followed.granted_score) >= SAME_PLACE_MS
            self._join(name, followed, is_new=is_new)
        elif then in TERMINAL:
            followed.completed = attempt

    def _granted(self, name: str, followed: Followed, at_ms: int) -> None:
        followed.granted.add(followed.attempt)
        followed.granted_score = followed.score
        for score, earlier in self._lines[followed.lane]:
            if score >= followed.score:
                break
            other = self.executions[earlier]
            comparable = followed.lane not in self._fair or self._key(other) == self._key(followed)
            if comparable:
                is_open = self._bounds.is_open_for_sure(other.lane, other.gates)
                self._found.unless(not is_open, Kind.ORDER, f"{name} was granted before {earlier}")
        self._bounds.grant(name, followed.lane, followed.gates, at_ms)

    def _join(self, name: str, followed: Followed, *, is_new: bool) -> None:
        insort(self._lines[followed.lane], (followed.score, name))
        if followed.lane in self._fair:
            self._turns[followed.lane].wait(name, followed.band, self._key(followed), is_new=is_new)

    def _leave(self, name: str, followed: Followed, *, started: bool) -> None:
        self._lines[followed.lane].remove((followed.score, name))
        if followed.lane in self._fair:
            self._turns[followed.lane].leave(name, followed.band, self._key(followed), started=started)

    def _key(self, followed: Followed) -> str:
        kind = self._fair[followed.lane]
        return next((gate for gate in followed.gates if gate.startswith(f"{kind}:")), kind)


def _same_band(score: float, followed: Followed) -> bool:
    return score // BAND_WIDTH_MS == followed.score // BAND_WIDTH_MS
