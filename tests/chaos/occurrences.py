"""What must hold of schedules: what is parked was to be, and what was to be is parked, or counted as left out.

That an occurrence runs once and has one end is what holds of each execution (`replay.py`, `judging.py`): its id is its
schedule and its time, whoever plans it. What is taken back before it is due, since its schedule was changed or nobody
promoted it for long, was never let go: its id is free again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from bandmaster.scheduler.engine.journal import JournalEntry, Verb
from bandmaster.scheduler.events.schedule import OF_SCHEDULES, Schedule, occurrence_id
from bandmaster.scheduler.events.schedule_fields import Missed, Overlap
from bandmaster.scheduler.model.states import State
from chaos.found import Found, Kind
from chaos.recorded import Recorded, Timed

TAKEN_BACK: Final = frozenset({"schedule_removed", "schedule_changed", "missed", "clock_went_back"})
"""Why an occurrence that was never let go is no more."""
OVERLAP: Final = "overlap"
"""Why one that is due is left out."""
LATEST_MS: Final = 90_000
"""After so long an occurrence is dealt with, whatever was killed: the longest fault, an election, and a leap on top."""


@dataclass(slots=True)
class Span:
    """A time in which a schedule was active, under one rule."""

    schedule: Schedule
    since_ms: int
    """Its cursor then."""


@dataclass(slots=True)
class Occurrences:
    """Follows schedules and their occurrences by the journal."""

    found: Found
    _active: dict[str, Span] = field(default_factory=dict[str, Span])
    _parked: set[str] = field(default_factory=set[str])
    """Without what was taken back."""

    def read(self, recorded: Recorded) -> "Occurrences":
        """Follow the journal to its end, and compare it with how far the schedules were planned then."""
        changes = {entry.fields["name"]: entry for entry in recorded.entries if entry.verb == Verb.SCHEDULE}
        last = {name: entry for name, entry in changes.items() if name in recorded.schedules}
        for entry in recorded.entries:
            if entry.verb == Verb.SCHEDULE:
                name = entry.fields["name"]
                if name in self._active and last.get(name) is entry:
                    # It removes the schedule at the end of the run, and takes back what is parked.
                    self._last(self._active.pop(name), recorded.schedules[name])
                self._change(entry)
            elif entry.verb == Verb.PARK and (instant := instant_of_id(entry.execution_id)):
                self._park(entry.execution_id, *instant)
            elif is_taken_back(entry):
                self._parked.discard(entry.execution_id)
        for name, span in self._active.items():
            if name in recorded.schedules:
                self._last(span, recorded.schedules[name])
        return self

    def _change(self, entry: JournalEntry) -> None:
        name = entry.fields["name"]
        ended = self._active.pop(name, None)
        if ended is not None:
            self._closed(ended, entry.at_ms)
        _, state, _, definition = (*entry.fields["to"].split(" ", 3), "", "", "", "")[:4]
        if state == "active":
            self._active[name] = Span(Schedule.from_json(definition), entry.at_ms)

    def _park(self, execution_id: str, name: str, at_ms: int) -> None:
        span = self._active.get(name)
        is_its = span is not None and next(span.schedule.times(at_ms - 1), None) == at_ms
        what = f"{execution_id}, though its schedule {'is not active' if span is None else 'has no such time'}"
        self.found.unless(is_its, Kind.UNASKED, what)
        self._parked.add(execution_id)

    def _passed(self, span: Span, until_ms: int) -> Iterator[str]:
        """What was to be parked in a span, and is not."""
        for at_ms in span.schedule.times(span.since_ms):
            if at_ms > until_ms:
                return
            name = occurrence_id(span.schedule.name, at_ms)
            if name not in self._parked:
                yield name

    def _closed(self, span: Span, until_ms: int) -> None:
        schedule = span.schedule
        if schedule.missed is not Missed.ALL or schedule.overlap is not Overlap.ALLOW:
            return  # how many of it were left out is not known any more
        passed = list(self._passed(span, until_ms - LATEST_MS - schedule.jitter_ms))
        self.found.unless(not passed, Kind.PASSED_OVER, f"{schedule.name}: {passed[:3]} in a time that ended")

    def _last(self, span: Span, timed: Timed) -> None:
        name = span.schedule.name
        is_planned = timed.cursor_ms > timed.now_ms
        self.found.unless(is_planned, Kind.NOT_PLANNED, f"{name}: {timed.now_ms - timed.cursor_ms} ms behind")
        passed = list(self._passed(span, timed.cursor_ms))
        what = f"{name}: {timed.skipped} are counted as left out, and these are missing: {passed[:3]}"
        self.found.unless(len(passed) <= timed.skipped, Kind.PASSED_OVER, what)


def instant_of_id(execution_id: str) -> tuple[str, int] | None:
    """The schedule and the time of an occurrence in unix milliseconds; None if it is none, or was run at once."""
    if not execution_id.startswith(OF_SCHEDULES):
        return None
    name, _, instant = execution_id.removeprefix(OF_SCHEDULES).partition(":")
    try:
        at = datetime.strptime(instant, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
    return name, int(at.timestamp() * 1000)


def is_taken_back(entry: JournalEntry) -> bool:
    """Whether it says that an occurrence is as if it had never been parked."""
    fields = entry.fields
    is_cancel = entry.verb == Verb.CANCEL and fields["state"] == State.CANCELLED and fields["attempt"] == "0"
    return is_cancel and instant_of_id(entry.execution_id) is not None and fields.get("reason") in TAKEN_BACK
