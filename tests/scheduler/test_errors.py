"""Errors: what catches them, what they carry, and that they survive a process border."""

import pickle

import pytest
from dramatiq.middleware import MiddlewareError

from bandmaster.scheduler.model.errors import (
    AmbiguousExecution,
    BandmasterError,
    DuplicateExecution,
    InvalidRequest,
    NotLeader,
    NotRunnable,
    NotUnique,
    OnAnotherShard,
    QueueFull,
    QueueRejected,
    QueueUnavailable,
    ScheduleExists,
    SettingChanged,
    StaleGrant,
    UnknownExecution,
    UnknownFormat,
    UnknownSchedule,
    UserLimitExceeded,
    shown,
)
from bandmaster.scheduler.model.states import State

ERRORS: list[BandmasterError] = [
    QueueRejected("no", execution_id="a"),
    QueueFull(execution_id="a", limit=3),
    UserLimitExceeded(execution_id="a", user_id="ann", limit=2),
    DuplicateExecution(execution_id="a", state=State.RUNNING),
    InvalidRequest("priority", "'x' is not a priority", allowed="HIGH", execution_id="a"),
    QueueUnavailable("it is away", url="redis://h"),
    UnknownFormat("2 is what the data of this prefix has, and this release knows 1"),
    StaleGrant(execution_id="a", attempt=1, current_attempt=2, state=State.RUNNING),
    NotLeader(leader_id="me", epoch=4, current_epoch=5),
    UnknownExecution(execution_id="a"),
    AmbiguousExecution(typed="a", found=["ab", "ac"]),
    NotRunnable("nothing is left"),
    OnAnotherShard("LOW is on another server"),
    SettingChanged("max_queue_size", 5.0),
    UnknownSchedule("nightly"),
    ScheduleExists("nightly"),
    NotUnique(execution_id="b", key="report:acme", other="a", state=State.PENDING),
]


def test_the_list_is_complete() -> None:
    found: set[type] = set()
    todo: list[type[BandmasterError]] = [BandmasterError]
    while todo:
        for child in todo.pop().__subclasses__():
            found.add(child)
            todo.append(child)
    assert {type(error) for error in ERRORS} == {
        kind for kind in found if kind.__module__ == BandmasterError.__module__
    }


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_a_process_border(error: BandmasterError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("error", [error for error in ERRORS if isinstance(error, QueueRejected | QueueUnavailable)])
def test_what_must_stop_a_message_is_a_middleware_error(error: BandmasterError) -> None:
    assert isinstance(error, MiddlewareError)


def test_a_rejection_says_which_execution_and_why() -> None:
    assert str(ERRORS[1]) == (
        "Queue full (max length: 3): execution 'a' was not accepted; send it again later, or raise max_queue_size"
    )
    codes = {type(error).code for error in ERRORS if isinstance(error, QueueRejected)}
    assert codes == {"rejected", "queue_full", "user_limit", "duplicate", "not_unique", "invalid"}


def test_an_invalid_request_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="priority: 'x' is not a priority; allowed: HIGH"):
        raise ERRORS[4]


def test_a_stale_grant_names_both_attempts() -> None:
    assert "attempt 1, is stale (attempt 2, state RUNNING)" in str(ERRORS[7])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\n\x1b[31m", r"'a\n\x1b[31m'"),
        ("x" * 200, "'" + "x" * 79 + "…"),
        (5, "5"),
        (1 << 20_000, "a value of type int"),
        (None, "None"),
        ({"script": "SECRET"}, "a value of type dict"),
    ],
    ids=["escaped", "cut", "number", "huge", "none", "payload"],
)
def test_a_refused_value_is_shown_escaped_cut_and_never_as_a_payload(value: object, text: str) -> None:
    assert shown(value) == text
