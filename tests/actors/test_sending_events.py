"""What may be sent to the actors, in which forms, and that bad input is refused at the door with nothing kept."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dramatiq import Message
from lifecycle import Lifecycle, requested

from bandmaster.actors import (
    execution_cancelled,
    execution_completed,
    execution_failed,
    execution_requested,
    execution_timeout,
)
from bandmaster.scheduler.events import ExecutionCompletedEvent, ExecutionFailedEvent, ExecutionRequestedEvent
from bandmaster.scheduler.model.errors import DuplicateExecution, InvalidRequest, QueueFull, UserLimitExceeded
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_SECONDS

DOORS: dict[str, Any] = {
    "requested": execution_requested,
    "completed": execution_completed,
    "failed": execution_failed,
    "timeout": execution_timeout,
    "cancelled": execution_cancelled,
}
BAD: dict[str, tuple[Any, ...]] = {
    "no event": (),
    "two events": ({}, {}),
    "no dict": (7,),
    "no id": ({"attempt": 1, "command": "x"},),
    "an unknown field": ({"execution_id": "x", "attempt": 1, "script": "1", "colour": "red"},),
    "a wrong type": ({"execution_id": 7, "attempt": 1, "script": "1"},),
    "a bad id": ({"execution_id": "a b", "attempt": 1, "script": "1"},),
    "a bad attempt": ({"execution_id": "x", "attempt": "one", "script": "1"},),
    "a broken text": ('{"execution_id":',),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("actor", DOORS.values(), ids=DOORS)
def test_bad_input_is_refused_where_it_is_sent_and_nothing_is_kept(
    actor: Any, bad: tuple[Any, ...], lifecycle: Lifecycle
) -> None:
    with pytest.raises(InvalidRequest):
        actor.send(*bad)
    with pytest.raises(InvalidRequest):
        actor.message(*bad)
    assert lifecycle.keys() == set()


@pytest.mark.parametrize("attempt", [0, 10**9])
@pytest.mark.parametrize("actor", [execution_completed, execution_failed, execution_timeout])
def test_an_end_without_the_attempt_that_ended_is_refused(actor: Any, attempt: int, lifecycle: Lifecycle) -> None:
    with pytest.raises(InvalidRequest, match="attempt"):
        actor.send({"execution_id": "x", "attempt": attempt})
    assert lifecycle.keys() == set()


def test_another_actors_event_is_refused(lifecycle: Lifecycle) -> None:
    with pytest.raises(InvalidRequest):
        execution_completed.send(ExecutionFailedEvent(execution_id="x", attempt=1))
    with pytest.raises(InvalidRequest, match="event_type"):
        execution_completed.send({"event_type": "execution_failed", "execution_id": "x", "attempt": 1})
    assert lifecycle.keys() == set()


@pytest.mark.parametrize(
    "event",
    [{"execution_id": "x", "attempt": 1}, ExecutionCompletedEvent(execution_id="x", attempt=1)],
    ids=["dict", "model"],
)
def test_an_end_is_sent_as_a_dict_or_a_model(event: Any, lifecycle: Lifecycle) -> None:
    execution_completed.send(event)
    ((actor, sent),) = lifecycle.sent()
    assert actor == "execution_completed"
    assert ExecutionCompletedEvent.from_any(sent).execution_id == "x"


@pytest.mark.parametrize("as_model", [False, True], ids=["dict", "model"])
def test_a_request_needs_a_script_or_a_command_and_the_rest_has_defaults(as_model: bool, lifecycle: Lifecycle) -> None:
    script = "print(1)"
    message = execution_requested.send(ExecutionRequestedEvent(script=script) if as_model else {"script": script})
    execution_id = message.options["execution_id"]
    assert execution_id[14] == "7", "a UUIDv7"
    meta = lifecycle.queue.views.meta(execution_id)
    assert (meta["state"], meta["band"], meta["action"], meta["lane"]) == ("PENDING", "2", "pod", "executions")
    assert "user" not in meta
    assert meta["timeout_ms"] == "300000"
    assert lifecycle.sent() == []


def test_a_request_may_be_given_its_id_either_way_but_not_two(lifecycle: Lifecycle) -> None:
    script = {"script": "1"}
    for message in (
        execution_requested.send({"execution_id": "a", **script}),
        execution_requested.send_with_options(args=(script,), execution_id="a2"),
        execution_requested.send_with_options(args=({"execution_id": "a3", **script},), execution_id="a3"),
    ):
        assert lifecycle.state(message.options["execution_id"]) is State.PENDING
    assert lifecycle.queue.views.pending() == ["a", "a2", "a3"]
    with pytest.raises(InvalidRequest, match="execution_id"):
        execution_requested.send_with_options(args=({"execution_id": "b", **script},), execution_id="c")


@pytest.mark.parametrize(
    "option", [{"band": "HIGH"}, {"user_id": "ann"}, {"gates": ["g"]}, {"scheduled_at": "2030-01-01T00:00:00Z"}]
)
def test_an_option_that_the_event_has_a_field_for_is_refused_and_not_ignored(
    option: dict[str, Any], lifecycle: Lifecycle
) -> None:
    with pytest.raises(InvalidRequest, match="of the event"):
        execution_requested.send_with_options(args=({"script": "1"},), **option)
    assert lifecycle.keys() == set()


def test_a_request_may_be_delayed_or_scheduled(lifecycle: Lifecycle) -> None:
    execution_requested.send_with_options(args=(requested(execution_id="delayed"),), delay=60_000)
    execution_requested.send(requested(execution_id="due", scheduled_at=datetime.now(UTC) + timedelta(seconds=30)))
    assert lifecycle.queue.views.scheduled() == ["due", "delayed"]


def test_refusals_of_the_queue_are_raised_by_send(lifecycle: Lifecycle) -> None:
    controls = lifecycle.queue.controls
    execution_requested.send(requested(execution_id="x", metadata={"user_id": "ann"}))
    with pytest.raises(DuplicateExecution):
        execution_requested.send(requested(execution_id="x"))
    controls.change_setting("max_executions_per_user", 1)
    with pytest.raises(UserLimitExceeded):
        execution_requested.send(requested(execution_id="y", metadata={"user_id": "ann"}))
    controls.change_setting("max_queue_size", 1)
    with pytest.raises(QueueFull):
        execution_requested.send(requested(execution_id="z"))
    assert lifecycle.queue.views.pending() == ["x"]


def test_a_request_called_and_not_sent_says_so(lifecycle: Lifecycle) -> None:
    with pytest.raises(RuntimeError, match="send it"):
        execution_requested({"script": "1"})


@pytest.mark.slow
@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", ""], ids=["a server that is not there", "the embedded one"])
def test_importing_the_actors_needs_no_server(url: str, lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__URL", url)
    run = "from bandmaster.actors import execution_requested; print(execution_requested.message({'script': '1'}).args)"
    assert "'script': '1'" in python(run)


@pytest.mark.slow
def test_an_application_keeps_the_broker_it_has(lifecycle: Lifecycle) -> None:
    run = "import dramatiq; from dramatiq.brokers.stub import StubBroker; own = StubBroker(); dramatiq.set_broker(own)"
    assert python(f"{run}; import bandmaster.actors; print(dramatiq.get_broker() is own)").strip() == "True"
    ours = "import dramatiq, bandmaster.actors as actors; print(dramatiq.get_broker() is actors.broker)"
    assert python(ours).strip() == "True"


def python(code: str) -> str:
    """What a process of its own prints."""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=GENEROUS_SECONDS, check=True
    )
    assert run.stderr == ""
    return run.stdout


def test_messages_are_plain_json_whatever_was_given(lifecycle: Lifecycle) -> None:
    message: Message[Any] = execution_requested.message(requested("true", gates=("a", "b")))
    assert message.args[0]["gates"] == ["a", "b"]
    assert Message.decode(message.encode()) == message


@pytest.mark.slow
def test_a_caller_that_finds_no_server_is_told_where_it_was_looked_for_and_what_to_do(tmp_path: Path) -> None:
    code = (
        "from bandmaster.actors import execution_requested\n"
        "try:\n"
        "    execution_requested.send({'command': ['true']})\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    environment = {**os.environ, "BANDMASTER_PATHS__VAR_DIR": str(tmp_path / "var")}
    environment.pop("BANDMASTER_REDIS__URL", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("QueueUnavailable Redis did not answer")
    assert f"start everything for the folder {tmp_path / 'var'} with `bandmaster up`" in done.stdout
