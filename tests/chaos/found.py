"""What a chaos run looks for: each kind of violation, and what was found of it."""

from collections import Counter
from enum import StrEnum
from typing import Final

_SHOWN: Final = 5


class Kind(StrEnum):
    """What must not be. Each can be planted (`planted.py`), and has to be found then."""

    ACCEPTED_TWICE = "accepted twice"
    ENDED_AGAIN = "changed after its end"
    STATE = "a state that cannot follow"
    ATTEMPT = "attempts that do not rise by one"
    LIMIT = "granted at a limit"
    RATE = "granted above a rate"
    PAUSE = "granted while paused"
    ORDER = "granted out of order"
    TURNS = "turns that are not fair"
    NOT_ENDED = "not ended in time"
    LOST = "accepted and lost"
    KEPT = "refused and kept"
    NEVER_SENT = "known and never sent"
    NO_GRANT = "ran without a grant"
    RAN_TWICE = "one grant ran twice"
    DID_NOT_RUN = "completed without a run"
    WRONG_END = "not the end that was planned"
    UNASKED = "an occurrence that no schedule has"
    PASSED_OVER = "an occurrence that is missing and not counted"
    NOT_PLANNED = "a schedule that is not planned on"
    LEFT_OVER = "left over in Redis"
    NO_THREAD = "threads that take no work"


class Found:
    """Keeps what was not allowed."""

    def __init__(self) -> None:
        self.counts: Final = Counter[Kind]()
        """How often each kind."""
        self.looked: Final = Counter[Kind]()
        """How often it was looked for where it could have been: a rule that nothing comes to proves nothing."""
        self._shown: dict[Kind, list[str]] = {}

    def add(self, kind: Kind, what: str) -> None:
        """Keep it; only the first few of a kind with their words."""
        self.counts[kind] += 1
        shown = self._shown.setdefault(kind, [])
        if len(shown) < _SHOWN and what not in shown:
            shown.append(what)

    def unless(self, holds: bool, kind: Kind, what: str) -> None:
        """Keep it, if something does not hold."""
        self.looked[kind] += 1
        if not holds:
            self.add(kind, what)

    @property
    def total(self) -> int:
        """Of all kinds."""
        return self.counts.total()

    def lines(self) -> list[str]:
        """For people."""
        return [
            line
            for kind, count in self.counts.items()
            for line in (f"{kind}: {count}", *(f"  {what}" for what in self._shown[kind]))
        ]
