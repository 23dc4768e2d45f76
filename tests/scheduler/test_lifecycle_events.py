"""What becomes of an execution: one strict model a fact, and output that is cleaned rather than lost."""

import json
from typing import Any

import pytest

from bandmaster.scheduler.events import (
    EVENT_TYPES,
    OUTPUT_TAIL_MAX_CHARS,
    Event,
    ExecutionAcceptedEvent,
    ExecutionCompletedEvent,
    ExecutionFailedEvent,
    ExecutionRejectedEvent,
    ExecutionScheduledEvent,
    ExecutionStartedEvent,
)
from bandmaster.scheduler.model.errors import InvalidRequest


def test_every_lifecycle_event_is_read_back_from_its_json() -> None:
    ended = {
        "attempt": 2,
        "exit_code": -9,
        "reason": "killed",
        "duration_seconds": 1.5,
        "output_tail": "x\n",
        "output_truncated": True,
    }
    given_fields: dict[str, dict[str, Any]] = {
        "execution_requested": {"script": "x"},
        "execution_accepted": {"at": 1, "position": 3},
        "execution_rejected": {"at": 1, "reason": "queue_full"},
        "execution_scheduled": {"at": 1, "attempt": 1},
        "execution_started": {"at": 1, "attempt": 1, "pod": "exec-a-1"},
        "execution_completed": {"at": 1, **ended},
        "execution_failed": {"at": 1, **ended, "infrastructure": True},
        "execution_timeout": {"at": 1, **ended},
        "execution_cancelled": {"at": 1, "attempt": 0},
        "execution_expired": {"at": 1, "attempt": 0},
    }
    assert set(given_fields) == set(EVENT_TYPES)
    for event_type, fields in given_fields.items():
        model: type[Event] = EVENT_TYPES[event_type]
        event = model.from_any({"execution_id": "a", **fields})
        written = json.loads(event.to_json())
        assert written.items() >= {"version": 1, "event_type": event_type, "execution_id": "a", **fields}.items()
        assert model.from_json(event.to_json()) == event


WRONG: tuple[tuple[Any, dict[str, Any], str], ...] = (
    (ExecutionAcceptedEvent, {"position": -1}, r"^position: -1 is refused"),
    (ExecutionScheduledEvent, {}, r"^attempt: is missing"),
    (ExecutionAcceptedEvent, {"position": 0, "at": 1.5}, r"^at: 1.5 is refused"),
    (ExecutionRejectedEvent, {"reason": "x" * 1025}, r"^reason: 'x+… is refused"),
    (ExecutionScheduledEvent, {"attempt": 0}, r"^attempt: 0 is refused"),
    (ExecutionScheduledEvent, {"attempt": 1, "pod": "p"}, r"^pod: is not a field"),
    (ExecutionStartedEvent, {"attempt": 1, "pod": "a\nb"}, r"^pod: 'a\\nb' is not printable"),
    (ExecutionCompletedEvent, {"attempt": 1, "exit_code": "0"}, r"^exit_code: '0' is refused"),
    (ExecutionCompletedEvent, {"attempt": 1, "infrastructure": False}, r"^infrastructure: is not a field"),
    (
        ExecutionCompletedEvent,
        {"attempt": 1, "duration_seconds": float("nan")},
        r"^duration_seconds: nan is refused",
    ),
    (ExecutionFailedEvent, {"attempt": 1, "infrastructure": 1}, r"^infrastructure: 1 is refused"),
    (ExecutionFailedEvent, {"attempt": 1, "output_tail": 5}, r"^output_tail: .*valid string"),
)


def test_a_wrong_lifecycle_event_is_refused_by_field(subtests: pytest.Subtests) -> None:
    for model, fields, message in WRONG:
        with subtests.test(message), pytest.raises(InvalidRequest, match=message):
            model.from_any({"execution_id": "a", "at": 1, **fields})


def test_output_is_cleaned_instead_of_refused_since_a_completion_must_not_be_lost() -> None:
    event = ExecutionCompletedEvent(execution_id="a", at=1, attempt=1, output_tail="a\0b\ud800c\x1b[31m\n")
    assert event.output_tail == "a␀b?c\x1b[31m\n"
    assert ExecutionCompletedEvent.from_json(event.to_json()) == event
    assert "\x1b" not in repr(event)


def test_output_is_bounded() -> None:
    with pytest.raises(InvalidRequest, match=r"output_tail: .*at most 65536") as caught:
        ExecutionCompletedEvent.from_any(
            {"execution_id": "a", "at": 1, "attempt": 1, "output_tail": "SECRET" * OUTPUT_TAIL_MAX_CHARS}
        )
    assert "SECRET" not in str(caught.value)
