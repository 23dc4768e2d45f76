"""The request: strict at the door, one JSON form, and a refusal that names the field and never shows a payload."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bandmaster.scheduler.events import (
    ExecutionAcceptedEvent,
    ExecutionRequestedEvent,
    Metadata,
)
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.priority import Priority

SCRIPT = "print('SECRET')"
FULL: dict[str, Any] = {
    "version": 1,
    "event_type": "execution_requested",
    "execution_id": "job-1",
    "script": SCRIPT,
    "image": "images.example/python@sha256:0f",
    "runtime": "/usr/bin/python3",
    "file_name": "main.py",
    "timeout_seconds": 60,
    "cpu_request": "100m",
    "cpu_limit": "0.5",
    "memory_request": "64Mi",
    "memory_limit": "1G",
    "priority": "HIGH",
    "action": "report",
    "gates": ["tenant:42", "gpu"],
    "scheduled_at": "2030-01-31T12:00:00Z",
    "metadata": {"user_id": "ann", "correlation_id": "c-1", "labels": {"team": "blue"}},
    "requested_at": "2026-01-31T12:00:00.000001Z",
}


def test_only_a_script_or_a_command_is_needed() -> None:
    before = datetime.now(UTC)
    event = ExecutionRequestedEvent.from_any({"command": ["echo", ""]})
    assert event.command == ("echo", "")
    assert event.script is None
    assert (event.timeout_seconds, event.priority, event.action, event.gates) == (300, Priority.NORMAL, "pod", ())
    assert event.metadata == Metadata()
    assert event.metadata.user_id is None
    assert before <= event.requested_at <= datetime.now(UTC)
    assert event.execution_id != ExecutionRequestedEvent.from_any({"script": "x"}).execution_id


def test_the_json_form_says_everything_and_is_read_back_as_the_same() -> None:
    event = ExecutionRequestedEvent.from_any(FULL)
    assert json.loads(event.to_json()) == FULL
    for data in (event.to_json(), event.to_json().decode()):
        assert ExecutionRequestedEvent.from_json(data) == event
        assert ExecutionRequestedEvent.from_any(data) == event
    assert ExecutionRequestedEvent.from_json(event.to_json()).to_json() == event.to_json()


def test_a_model_is_taken_as_it_is() -> None:
    event = ExecutionRequestedEvent(script="x")
    assert ExecutionRequestedEvent.from_any(event) is event


def test_python_values_are_taken_where_json_has_none() -> None:
    cet = timezone(timedelta(hours=1))
    event = ExecutionRequestedEvent.from_any(
        {
            "command": ("a",),
            "gates": ("g",),
            "priority": Priority.LOW,
            "scheduled_at": datetime(2030, 1, 1, tzinfo=cet),
            "metadata": Metadata(user_id="ann"),
        }
    )
    assert event.scheduled_at is not None
    assert event.scheduled_at == datetime(2029, 12, 31, 23, tzinfo=UTC)
    assert event.scheduled_at.utcoffset() == timedelta(0)
    assert (event.priority, event.metadata.user_id) == (Priority.LOW, "ann")


@pytest.mark.parametrize("name", ["critical", "Critical", "CRITICAL"])
def test_a_priority_comes_by_name_in_any_case_and_goes_by_its_own(name: str) -> None:
    event = ExecutionRequestedEvent.from_any({"script": "x", "priority": name})
    assert event.priority is Priority.CRITICAL
    assert json.loads(event.to_json())["priority"] == "CRITICAL"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"priority": "urgent"}, r"^priority: 'urgent' is not a priority; allowed: CRITICAL, HIGH"),
    ({"priority": 1}, r"^priority: 1 is not the name of a priority; allowed: CRITICAL, HIGH"),
    ({"priority": None}, r"^priority: None is not the name"),
    ({"prioritty": "HIGH"}, r"^prioritty: is not a field; allowed: .*priority"),
    ({"timeout_seconds": "300"}, r"^timeout_seconds: '300' is refused: input should be a valid integer"),
    ({"timeout_seconds": True}, r"^timeout_seconds: True is refused"),
    ({"timeout_seconds": 300.0}, r"^timeout_seconds: 300.0 is refused"),
    ({"timeout_seconds": 0}, r"^timeout_seconds: 0 is refused: input should be greater than or equal to 1"),
    (
        {"timeout_seconds": 604_801},
        r"^timeout_seconds: 604801 is refused: input should be less than or equal to 604800",
    ),
    ({"timeout_seconds": None}, r"^timeout_seconds: None is refused"),
    ({"execution_id": "a b"}, r"^execution_id: 'a b' is not an execution id; allowed: 1 to 128"),
    ({"execution_id": 5}, r"^execution_id: 5 is refused: input should be a valid string"),
    ({"execution_id": ""}, r"^execution_id: '' is not"),
    ({"action": "a/b"}, r"^action: 'a/b' is not an action"),
    ({"gates": ["a", "a"]}, r"^gates: a gate is named twice"),
    ({"gates": ["a", " "]}, r"^gates\.1: ' ' is not a gate's key"),
    ({"gates": list("abcdefghi")}, r"^gates: 9 gates are too many; allowed: at most 8"),
    ({"gates": "abc"}, r"^gates: a value of type str is not a list"),
    ({"gates": {"a", "b"}}, r"^gates: a value of type set is not a list"),
    ({"gates": [1]}, r"^gates\.0: 1 is refused: input should be a valid string"),
    ({"image": "a b"}, r"^image: 'a b' is not an image"),
    ({"image": "\x1b[31m"}, r"^image: '\\x1b\[31m' is not an image"),
    ({"runtime": "python -c"}, r"^runtime: 'python -c' is not a runtime"),
    ({"file_name": "../main.py"}, r"^file_name: '../main.py' is not a file name"),
    ({"file_name": ".."}, r"^file_name: '..' is not a file name"),
    ({"file_name": "main.py\n"}, r"^file_name: 'main.py\\n' is not a file name"),
    ({"file_name": "a\\b"}, r"^file_name: "),
    ({"file_name": "-rf"}, r"^file_name: "),
    ({"cpu_request": "lots"}, r"^cpu_request: 'lots' is not a quantity above zero"),
    ({"memory_limit": 512}, r"^memory_limit: 512 is refused: input should be a valid string"),
    ({"cpu_request": "2", "cpu_limit": "1900m"}, r"^cpu_limit: '1900m' is less than cpu_request '2'"),
    ({"memory_request": "1Gi", "memory_limit": "1G"}, r"^memory_limit: '1G' is less than memory_request '1Gi'"),
    ({"scheduled_at": "2030-01-31T12:00:00"}, r"^scheduled_at: 2030-01-31T12:00:00 has no time zone"),
    ({"scheduled_at": datetime(2030, 1, 1)}, r"^scheduled_at: 2030-01-01T00:00:00 has no time zone"),
    ({"scheduled_at": "tomorrow"}, r"^scheduled_at: 'tomorrow' is not a time; allowed: ISO 8601"),
    ({"scheduled_at": 1_900_000_000}, r"^scheduled_at: 1900000000 is refused"),
    ({"scheduled_at": "1900000000"}, r"^scheduled_at: '1900000000' is not a time"),
    ({"scheduled_at": "0001-01-01T00:00:00+14:00"}, r"^scheduled_at: .* is out of range"),
    ({"scheduled_at": "2100-01-01T00:00:00Z"}, r"^scheduled_at: .* is out of range"),
    ({"metadata": {"user": "ann"}}, r"^metadata\.user: is not a field; allowed: user_id, correlation_id, labels"),
    ({"metadata": {"user_id": "a\nb"}}, r"^metadata\.user_id: 'a\\nb' is not a user's id"),
    ({"metadata": {"user_id": " "}}, r"^metadata\.user_id: ' ' is not a user's id"),
    ({"metadata": {"user_id": 5}}, r"^metadata\.user_id: 5 is refused"),
    ({"metadata": {"correlation_id": ""}}, r"^metadata\.correlation_id: '' is refused"),
    ({"metadata": {"labels": {"a": 1}}}, r"^metadata\.labels\.a: 1 is refused"),
    ({"metadata": {"labels": {"a b": "c"}}}, r"^metadata\.labels\.a b.*: 'a b' is not a label's name"),
    ({"metadata": {"labels": {"a": "b\x00"}}}, r"^metadata\.labels\.a: 'b\\x00' is not printable"),
    ({"metadata": {"labels": {str(n): "" for n in range(33)}}}, r"^metadata\.labels: 33 labels are too many"),
    ({"metadata": None}, r"^metadata: None is refused"),
    ({"version": 2}, r"^version: 2 is refused: input should be 1"),
    ({"version": True}, r"^version: True is not a version"),
    ({"version": 1.0}, r"^version: 1.0 is not a version"),
    ({"event_type": "execution_completed"}, r"^event_type: 'execution_completed' is refused"),
    ({"requested_at": "now"}, r"^requested_at: 'now' is not a time"),
]


def test_a_wrong_field_is_refused_by_name(subtests: pytest.Subtests) -> None:
    for change, message in WRONG:
        with subtests.test(change=change, message=message):
            with pytest.raises(InvalidRequest, match=message) as caught:
                ExecutionRequestedEvent.from_any({"execution_id": "job-1", "script": SCRIPT, **change})
            text = str(caught.value)
            assert text.isprintable()
            assert len(text) < 500
            assert "SECRET" not in text
            # A chained error would show the payload in a traceback.
            assert caught.value.__cause__ is None
            assert caught.value.__suppress_context__
            given_id = change.get("execution_id", "job-1")
            assert caught.value.execution_id == (given_id if isinstance(given_id, str) else None)


IN_JSON = [
    (change, message)
    for change, message in WRONG
    if not any(isinstance(value, datetime | set) for value in change.values())
]


def test_json_is_checked_as_strictly_as_a_dict(subtests: pytest.Subtests) -> None:
    for change, message in IN_JSON:
        with subtests.test(change=change, message=message), pytest.raises(InvalidRequest, match=message):
            ExecutionRequestedEvent.from_json(json.dumps({"script": SCRIPT, **change}))


WITH_PAYLOADS: tuple[tuple[dict[Any, Any], str], ...] = (
    ({}, r"^script, command: neither is given; allowed: exactly one of the two"),
    ({"script": SCRIPT, "command": ["SECRET"]}, r"^script, command: both are given"),
    ({"script": ""}, r"^script: is blank"),
    ({"script": " \n"}, r"^script: is blank"),
    ({"script": "SECRET\0"}, r"^script: contains a NUL character"),
    ({"script": "SECRET\ud800"}, r"^script: contains half of a surrogate pair"),
    ({"script": b"SECRET"}, r"^script: input should be a valid string"),
    ({"script": ["SECRET"]}, r"^script: input should be a valid string"),
    ({"command": []}, r"^command: names no program"),
    ({"command": ["", "SECRET"]}, r"^command: names no program"),
    ({"command": "SECRET"}, r"^command: a value of type str is not a list"),
    ({"command": ["SECRET", 1]}, r"^command\.1: input should be a valid string"),
    ({"command": ["SECRET\0"]}, r"^command: contains a NUL"),
    ({"scirpt": "SECRET"}, r"^scirpt: is not a field; allowed: .*script"),
    ({5: "SECRET"}, r"^5: .*keys should be strings"),
)


def test_a_refusal_never_shows_a_payload(subtests: pytest.Subtests) -> None:
    for request_, message in WITH_PAYLOADS:
        with subtests.test(request_=request_, message=message):
            with pytest.raises(InvalidRequest, match=message) as caught:
                ExecutionRequestedEvent.from_any(request_)
            assert "SECRET" not in str(caught.value)


NO_EVENTS: tuple[tuple[object, str], ...] = (
    (None, "None is not an event; allowed: a dict, JSON, or ExecutionRequestedEvent"),
    ([], "a value of type list is not an event"),
    (5, "5 is not an event"),
    (
        ExecutionAcceptedEvent(execution_id="a", at=1, position=0),
        "a value of type ExecutionAcceptedEvent is not an event",
    ),
    (b"", "is not JSON"),
    ("{", "is not JSON"),
    (b"[1]", "a value of type list is refused: input should be an object"),
    (b"null", "None is refused: input should be an object"),
    (b'{"script": "\xff"}', "is not JSON"),
    ('{"script": "\\ud800"}', "is not JSON"),
    ('{"script": NaN}', "input should be a valid string"),
    ("[" * 100_000, "is not JSON: recursion limit exceeded"),
    ("\ud800", "input should be a valid string"),
)


def test_what_is_no_event_at_all_is_refused(subtests: pytest.Subtests) -> None:
    for value, message in NO_EVENTS:
        with subtests.test(value=value, message=message), pytest.raises(InvalidRequest, match=message):
            ExecutionRequestedEvent.from_any(value)


def test_an_event_shows_no_payload_and_does_not_change() -> None:
    event = ExecutionRequestedEvent.from_any(FULL)
    assert "SECRET" not in repr(event)
    assert "SECRET" not in str(event)
    with pytest.raises(ValidationError, match="frozen"):
        event.timeout_seconds = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_two_events_share_nothing_that_could_change() -> None:
    first, second = (ExecutionRequestedEvent(script="x") for _ in range(2))
    assert first.metadata.labels is not second.metadata.labels


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*ExecutionRequestedEvent.model_fields, "other"]), json_values, max_size=4))
def test_every_dict_is_either_an_event_that_survives_its_json_or_refused_on_one_line(values: dict[str, Any]) -> None:
    try:
        event = ExecutionRequestedEvent.from_any(values)
    except InvalidRequest as error:
        refusal = str(error)
    else:
        assert ExecutionRequestedEvent.from_json(event.to_json()) == event
        return
    assert refusal.isprintable()
