"""``Held``: a schedule as Redis and the journal keep it, with how far it is planned.

In the flow: `schedules.py` reads it, whoever plans or shows schedules gets it. What is damaged reads as one that cannot
be read, or of which nothing is planned: nobody stops at it. Nothing is stored here.
"""

from dataclasses import dataclass
from typing import Final

from ..events.schedule import Schedule
from ..model.errors import InvalidRequest

_NONE: Final = "-"
_PLANNED_WORDS: Final = 6


@dataclass(frozen=True, slots=True)
class Held:
    """A schedule as it is kept."""

    name: str
    definition: str
    """The schedule's JSON."""
    is_declared: bool
    """Whether an application declares it; else an operator added it."""
    is_paused: bool
    revision: str = "0"
    cursor_ms: int = 0
    """Each occurrence up to this time is dealt with."""
    skipped: int = 0
    """How many were left out, as missed or since an earlier one lived."""
    problem: str | None = None
    """What keeps it from being planned, a word."""
    runs: tuple[str, ...] = ()
    """The ids of the last occurrences that were let go, the latest last."""

    @property
    def schedule(self) -> Schedule:
        """What it is.

        Raises:
            InvalidRequest: If another release wrote it, or it is damaged.
        """
        return Schedule.from_json(self.definition)


def read_held(name: str, value: bytes, state: bytes | None) -> Held:
    """Read the two fields that Redis keeps of one; a state that is damaged reads as none."""
    # Padded, so that what is damaged reads as a definition that cannot be read.
    kept, paused, _, definition = (*value.decode(errors="replace").split(" ", 3), "", "", "", "")[:4]
    is_declared, is_paused = kept == "declared", paused == "paused"
    words = [] if state is None else state.decode(errors="replace").split(" ")
    if len(words) != _PLANNED_WORDS or not (words[1].isdecimal() and words[2].isdecimal()):
        return Held(name, definition, is_declared, is_paused)
    revision, cursor, skipped, problem, _, runs = words
    return Held(
        name,
        definition,
        is_declared,
        is_paused,
        revision,
        int(cursor),
        int(skipped),
        None if problem == _NONE else problem,
        () if runs == _NONE else tuple(runs.split(",")),
    )


def readable_schedule(kept: str) -> str:
    """Return what the journal has of a schedule as people read it, without what it runs."""
    if not kept:
        return kept
    held = read_held("", kept.encode(), None)
    try:
        schedule = held.schedule
    except InvalidRequest:
        return "not readable"
    what = f"actor {schedule.actor}" if schedule.actor is not None else "a command"
    state = ", ".join(word for word, is_so in (("paused", held.is_paused), ("declared", held.is_declared)) if is_so)
    return f"{schedule.cron} ({schedule.tz}), {what}{f', {state}' if state else ''}"
