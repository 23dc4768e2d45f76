"""``Batch``: the rows that a number of the journal's entries make, in order, before anything is written.

In the flow: the consumer makes one batch of each page of the journal, from the rows of the executions that it names.
Figures of queues are differences, so a batch needs no look at any other row. Nothing here does I/O.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic_core import to_json

from ..scheduler.engine.journal import JournalEntry, Verb
from ..scheduler.model.states import TERMINAL, State
from .executions import BEGINS, OF_WHAT_WAS, Execution, Place, cleaned
from .magnitudes import magnitude_of
from .totals import Totals

OF_SESSIONS: Final = (Verb.SIGN_IN, Verb.SIGN_OUT)
"""Changes that are about a browser's session, and leave nothing that holds on."""
_CHANGES: Final = frozenset(
    {
        Verb.LIMIT,
        Verb.RATE,
        Verb.PAUSE,
        Verb.RESUME,
        Verb.SET,
        Verb.SCHEDULE,
        Verb.DROP_ACTION,
        Verb.ERASE,
        Verb.REBUILD,
        *OF_SESSIONS,
    }
)
_GRANTS: Final = frozenset({Verb.ADMIT, Verb.RESTORE})
_COUNTED_BEFORE: Final = frozenset({Verb.BURY, Verb.DROP, Verb.FORGET, Verb.RESTORE})
"""Entries of ended executions that do not say that one ended."""
_COLUMNS: Final = frozenset({"lane", "action", "user", "band", "attempt", "state", "reason", "by"})
"""Fields of an entry that stand in columns; the others go into `details`."""
_OF_ACTION: Final = "action:"


@dataclass(slots=True)
class Figures:
    """How the figures of one action's queue change."""

    waiting: int = 0
    active: int = 0
    enqueued: int = 0
    completed: int = 0
    at_ms: int = 0
    is_moved: bool = False
    """Whether transitions changed them, and not only an operator or a comparison with Redis."""
    limit: str | None = None
    """The new limit of the action's own gate; empty: lifted; None: as before."""
    is_dropped: bool = False
    """Whether the lifetime totals begin anew."""

    def move(self, place: Place, by: int) -> None:
        """Count an execution in or out."""
        if place is Place.WAITING:
            self.waiting += by
        elif place is Place.ACTIVE:
            self.active += by


@dataclass(slots=True)
class Hold:
    """An attempt's hold on its gates, which begin and end together."""

    execution_id: str
    attempt: int
    since_ms: int
    gates: list[str]
    """That of its action is the first."""
    lane: str
    until_ms: int | None = None


@dataclass(slots=True)
class Batch:
    """What is to be written."""

    journal_id: int
    executions: dict[str, Execution]
    """By id: the rows as they were, then as they are to be."""
    changed: set[str] = field(default_factory=set[str])
    """The executions whose rows are to be written."""
    revived: dict[str, int] = field(default_factory=dict[str, int])
    """When executions that had ended were seen to live, by id; `reviving.py` judges them."""
    transitions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    changes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    begun: dict[str, Hold] = field(default_factory=dict[str, Hold])
    """Holds that begin in this batch and go on, by execution."""
    holds: list[Hold] = field(default_factory=list[Hold])
    """Holds that begin in this batch."""
    ended: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Holds that began before it and end in it."""
    figures: dict[str, Figures] = field(default_factory=dict[str, Figures])
    """By action."""
    totals: Totals = field(default_factory=Totals)

    def add(self, entries: Iterable[JournalEntry]) -> None:
        """Take over entries, in their order."""
        for entry in entries:
            fields = cleaned(entry.fields)
            if fields is not entry.fields:
                entry = replace(entry, fields=fields)
            if entry.verb in _CHANGES:
                self._change(entry)
            elif entry.execution_id or entry.verb == Verb.REJECT:
                self._transition(entry)

    def _transition(self, entry: JournalEntry) -> None:
        fields, execution = entry.fields, self.executions.get(entry.execution_id)
        if execution is None and entry.verb in OF_WHAT_WAS:
            return  # a row of it would be of no execution, and nothing would ever delete it
        self.transitions.append(
            self._key(entry)
            | {
                "execution_id": entry.execution_id,
                "verb": entry.verb,
                "state": fields.get("state") or None,
                "attempt": int(fields.get("attempt") or 0),
                "reason": fields.get("reason") or None,
                "details": _details(fields),
                "changed_by": fields.get("by") or None,
            }
        )
        self.totals.count(entry)
        if execution is None:
            execution = Execution(entry.execution_id)
        before, action, attempt, granted_ms = execution.place, execution.action, execution.attempt, execution.granted_ms
        had_ended = execution.state in TERMINAL
        if not execution.apply(entry):
            return
        if entry.verb in BEGINS or execution.state in TERMINAL:
            # What ended again was seen to live before, but for the end that a rebuild restores.
            if entry.verb in BEGINS or entry.verb == Verb.RESTORE:
                self.revived.pop(entry.execution_id, None)
        elif had_ended:
            self.revived.setdefault(entry.execution_id, entry.at_ms)
        self.executions[entry.execution_id] = execution
        self.changed.add(entry.execution_id)
        self._figure(entry, execution, before, action)
        if entry.verb == Verb.RELEASE and execution.state == State.COMPLETED and execution.accepted_ms is not None:
            self.totals.observe_turnaround(execution.lane, entry.at_ms - execution.accepted_ms)
        begins_to_hold = entry.verb in _GRANTS and execution.place is Place.ACTIVE
        if before is Place.ACTIVE and (begins_to_hold or execution.place is not Place.ACTIVE):
            self._end_hold(entry, attempt, granted_ms)
            if granted_ms is not None and not begins_to_hold:
                self.totals.observe_run(execution.lane, entry.at_ms - granted_ms)
        if begins_to_hold:
            hold = Hold(execution.execution_id, execution.attempt, entry.at_ms, execution.all_gates, execution.lane)
            self.begun[execution.execution_id] = hold
            self.holds.append(hold)

    def _figure(self, entry: JournalEntry, execution: Execution, before: Place, action: str) -> None:
        if before is not Place.NOWHERE:
            self._of(action, entry).move(before, -1)
        figures = self._of(execution.action, entry)
        figures.move(execution.place, 1)
        if entry.verb == Verb.PARK:
            figures.enqueued += 1
        elif execution.state in TERMINAL and entry.verb not in _COUNTED_BEFORE:
            figures.completed += 1

    def _of(self, action: str, entry: JournalEntry, *, is_moved: bool = True) -> Figures:
        figures = self.figures.setdefault(action, Figures())
        figures.at_ms = max(figures.at_ms, entry.at_ms)
        figures.is_moved = figures.is_moved or is_moved
        return figures

    def _end_hold(self, entry: JournalEntry, attempt: int, granted_ms: int | None) -> None:
        hold = self.begun.pop(entry.execution_id, None)
        if hold is not None:
            hold.until_ms = entry.at_ms
        elif granted_ms is not None:
            # If the row, taken over from Redis, is ahead of this entry, the entry of its grant opens the hold again.
            self.ended.append(
                {
                    "of_execution": entry.execution_id,
                    "of_attempt": attempt,
                    "from_ms": granted_ms,
                    "ended_ms": entry.at_ms,
                    "ended_magnitude": magnitude_of(entry.at_ms - granted_ms),
                }
            )

    def _change(self, entry: JournalEntry) -> None:
        fields = entry.fields
        name, after = fields["name"], fields["to"]
        self.changes.append(
            self._key(entry)
            | {
                "verb": entry.verb,
                "name": name,
                "value_before": fields["from"] or None,
                "value_after": after or None,
                "changed_by": fields.get("by"),
            }
        )
        if name.startswith(_OF_ACTION) and entry.verb in (Verb.LIMIT, Verb.DROP_ACTION):
            figures = self._of(name.removeprefix(_OF_ACTION), entry, is_moved=False)
            if entry.verb == Verb.LIMIT:
                figures.limit = after
            else:
                figures.is_dropped, figures.enqueued, figures.completed = True, 0, 0

    def _key(self, entry: JournalEntry) -> dict[str, Any]:
        entry_ms, _, number = entry.entry_id.partition("-")
        return {
            "journal_id": self.journal_id,
            "entry_ms": int(entry_ms),
            "entry_number": int(number),
            "at_ms": entry.at_ms,
        }


def _details(fields: dict[str, str]) -> str | None:
    more = {name: value for name, value in fields.items() if name not in _COLUMNS}
    return to_json(more).decode() if more else None
