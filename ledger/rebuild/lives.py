"""``Life``: what all entries that were ever committed tell of one execution since it was accepted.

In the flow: `history.py` asks for it before anything is restored. A row of `executions` tells what the server knew
last. If that was restored from older data and the ledger followed it, the row has forgotten later attempts, or the
end; the entries of the journal that was followed before have not. Nothing here does I/O.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row

from ...scheduler.engine.journal import Verb
from ...scheduler.model.states import TERMINAL
from ..executions import BEGINS, is_drop_of

_OF_OTHERS: Final = frozenset({Verb.REJECT, Verb.TELL, Verb.FORGET})
"""Entries that tell nothing of the execution that they name."""


@dataclass(slots=True)
class Life:
    """One execution, as entries tell of it in their order."""

    end_state: str | None = None
    """None: no end was ever committed."""
    end_reason: str | None = None
    ended_ms: int | None = None
    """When it really ended, and not when its end was restored."""
    is_dead: bool = False
    """Whether it ended as a dead letter that nobody dropped."""
    attempt: int = 0
    """The latest one."""
    state: str | None = None
    """After the last entry of this attempt."""
    reason: str | None = None
    pod: str | None = None
    pod_uid: str | None = None

    def add(self, entry: Row[Any]) -> None:
        """Take over an entry, a row of `transitions`."""
        if entry.verb == Verb.DROP:
            self.is_dead = self.is_dead and not is_drop_of(json.loads(entry.details or "{}"), self.ended_ms)
        elif entry.state in TERMINAL:
            self._end(entry)
        elif entry.attempt >= self.attempt:
            if entry.attempt > self.attempt:
                self.pod = self.pod_uid = None
            self.attempt, self.state, self.reason = entry.attempt, entry.state, entry.reason
            if entry.verb == Verb.HAND_OVER:
                details = json.loads(entry.details or "{}")
                self.pod, self.pod_uid = details.get("pod"), details.get("pod_uid")

    def _end(self, entry: Row[Any]) -> None:
        self.attempt = max(self.attempt, entry.attempt)
        details = json.loads(entry.details or "{}")
        self.is_dead = details.get("dead") == "1"
        if entry.verb == Verb.RESTORE:
            if self.end_state is None:
                self.end_state, self.end_reason = entry.state, entry.reason
                self.ended_ms = int(details.get("ended_at") or entry.at_ms)
        else:
            self.end_state, self.end_reason, self.ended_ms = entry.state, entry.reason, entry.at_ms


def lives_of(entries: Iterable[Row[Any]], accepted_ms: Mapping[str, int | None]) -> dict[str, Life]:
    """Follow entries in their order.

    Args:
        entries: Rows of `transitions`.
        accepted_ms: By execution, when the one that is asked for was accepted: an earlier one may have had its id.

    Returns:
        Their lives by id; those of which nothing is told are left out.
    """
    lives = dict[str, Life]()
    begun = set[str]()
    for entry in entries:
        one, since_ms = entry.execution_id, accepted_ms[entry.execution_id]
        if entry.verb in BEGINS and entry.at_ms == since_ms:
            lives[one] = Life()
            begun.add(one)
        # The order tells what came later, and the clock only if the beginning is not known: it may be set back.
        if entry.verb not in _OF_OTHERS and (one in begun or entry.at_ms >= (since_ms or 0)):
            lives.setdefault(one, Life()).add(entry)
    return lives
