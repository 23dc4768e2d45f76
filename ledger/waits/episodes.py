"""The waits of one execution: from when to when it waited for each of its attempts. Pure.

In the flow: `telling.py` reads its transitions, and attributes each of these waits by itself. That a scheduled one
becomes due, or is moved to another band, does not end a wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ...scheduler.engine.journal import Verb
from ...scheduler.model.states import HOLDING, TERMINAL, WAITING
from ..executions import Execution
from ..queries.looking import Step
from .spans import Span

_BEGIN: Final = frozenset({Verb.PARK, Verb.RETRY, Verb.HAND_BACK, Verb.REAP})
"""Entries after which it waits anew."""
_GO_ON: Final = frozenset({Verb.PROMOTE, Verb.RESTORE})
"""Entries with which a wait is first heard of, if those before were not read."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait."""

    attempt: int
    """The one that it waited for."""
    span: Span
    due_ms: int | None
    """When it was due; None: at once."""
    ended_by: str | None
    """The verb that ended it; None: it goes on, or its end was not read."""


class Found(NamedTuple):
    """The waits of an execution."""

    waits: list[Wait]
    """In their order."""
    complete: bool
    """Whether the end of each is known: entries that were dropped unread may have told of one."""


def waits_of(steps: Sequence[Step], row: Execution, now_ms: int) -> Found:
    """Find the waits.

    Args:
        steps: The execution's transitions in their order; the first may be missing.
        row: Its row, which may know more than its transitions, as after a gap in the journal.
        now_ms: Until when one that goes on is told.
    """
    found: list[Wait] = []
    begun: Wait | None = None
    complete = True
    for step in steps:
        if step.state in WAITING and (step.verb in _BEGIN or (step.verb in _GO_ON and begun is None)):
            complete = complete and begun is None
            begun = Wait(step.attempt + 1, Span(step.at_ms, step.at_ms), _due_ms(step, row), None)
        elif step.state not in WAITING:
            if begun is None and step.verb == Verb.ADMIT and (waited_ms := _whole(step, "waited_ms")):
                begun = Wait(step.attempt, Span(step.at_ms - waited_ms, step.at_ms), None, None)
            if begun is not None:
                found.append(_ended(begun, step.at_ms, step.verb))
            begun = None
    if begun is not None:
        found.append(_ended(begun, _known_end_ms(row) or now_ms, None))
    return Found(found, complete)


def wait_that_ended(steps: Sequence[Step], row: Execution) -> Wait | None:
    """Return the wait that the last of some transitions ended; None: it ended none, or its beginning is not known.

    Args:
        steps: The execution's transitions in their order, up to that one; the first may be missing.
        row: Its row.
    """
    before, found = waits_of(steps[:-1], row, 0).waits, waits_of(steps, row, 0).waits
    went_on = bool(before) and before[-1].ended_by is None
    if len(found) != len(before) + (not went_on) or found[-1].ended_by is None:
        return None
    return found[-1]


def _ended(begun: Wait, at_ms: int, verb: str | None) -> Wait:
    # The server's clock may have been set back meanwhile.
    since_ms = begun.span.since_ms
    return Wait(begun.attempt, Span(since_ms, max(since_ms, at_ms)), begun.due_ms, verb)


def _due_ms(step: Step, row: Execution) -> int | None:
    if step.verb == Verb.RESTORE:
        return row.due_ms
    if step.verb == Verb.PARK:
        return _whole(step, "due")
    delay_ms = _whole(step, "delay_ms")
    return None if delay_ms is None else step.at_ms + delay_ms


def _whole(step: Step, name: str) -> int | None:
    value = step.details.get(name)
    return int(float(value)) if value else None


def _known_end_ms(row: Execution) -> int | None:
    if row.state in HOLDING:
        return row.granted_ms
    return row.ended_ms if row.state in TERMINAL else row.lost_ms
