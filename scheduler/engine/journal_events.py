"""Turns the journal's entries into lifecycle events, the typed models that actors and programs use.

An entry holds the texts that a script wrote; an event is a checked model of the package `events`. Not every entry
becomes an event: there is none for an execution that falls due, moves to another band or waits again. A program that
needs each step reads the entries.
"""

from collections.abc import Mapping
from typing import Final

from ..events import (
    ExecutionAcceptedEvent,
    ExecutionCancelledEvent,
    ExecutionCompletedEvent,
    ExecutionEndedEvent,
    ExecutionExpiredEvent,
    ExecutionFailedEvent,
    ExecutionRejectedEvent,
    ExecutionScheduledEvent,
    ExecutionStartedEvent,
    ExecutionTimeoutEvent,
    LifecycleEvent,
)
from ..model.states import State
from .journal import JournalEntry, Verb

_ENDS: Final[Mapping[str, type[ExecutionEndedEvent]]] = {
    State.COMPLETED: ExecutionCompletedEvent,
    State.FAILED: ExecutionFailedEvent,
    State.TIMEOUT: ExecutionTimeoutEvent,
    State.CANCELLED: ExecutionCancelledEvent,
    State.EXPIRED: ExecutionExpiredEvent,
}


def event_of(entry: JournalEntry) -> LifecycleEvent | None:
    """Return an entry as an event.

    Args:
        entry: An entry of the journal.

    Returns:
        The event; its `at` is the server's time. None if the entry is about no acceptance, refusal, grant, start or
        end.
    """
    if not entry.execution_id:
        return None
    fields = entry.fields
    told = {"execution_id": entry.execution_id, "at": entry.at_ms}
    attempt = int(fields.get("attempt", 0))
    match entry.verb:
        case Verb.PARK:
            position = int(fields.get("position", -1))
            return ExecutionAcceptedEvent.from_any(told | ({} if position < 0 else {"position": position}))
        case Verb.REJECT:
            return ExecutionRejectedEvent.from_any(told | {"reason": fields["reason"]})
        case Verb.ADMIT:
            return ExecutionScheduledEvent.from_any(told | {"attempt": attempt})
        case Verb.HAND_OVER:
            return ExecutionStartedEvent.from_any(told | {"attempt": attempt, "pod": fields["pod"]})
        case Verb.TELL | Verb.DROP | Verb.RESTORE:  # it had ended before, or goes on
            return None
        case _:
            end = _ENDS.get(fields.get("state", ""))
            reason = {"reason": fields["reason"]} if fields.get("reason") else {}
            return end and end.from_any(told | {"attempt": attempt} | reason)
