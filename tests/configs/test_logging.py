"""Logs: one form for every library, no payloads, nothing that forges a line."""

import io
import json
import logging
from collections.abc import Iterator

import dramatiq
import pytest
from dramatiq.broker import MessageProxy
from dramatiq.brokers.stub import StubBroker

from bandmaster.configs.areas import LoggingSettings
from bandmaster.configs.logger import Logger
from bandmaster.configs.logging import configure_logging


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def json_lines() -> io.StringIO:
    stream = io.StringIO()
    configure_logging(LoggingSettings(format="json"), stream=stream)
    return stream


@pytest.fixture
def console() -> io.StringIO:
    stream = io.StringIO()
    configure_logging(LoggingSettings(format="console"), stream=stream)
    return stream


def a_message() -> "dramatiq.Message[object]":
    return dramatiq.Message("executions", "execution_requested", ({"script": "SECRET"},), {}, {}, message_id="m-1")


def test_our_events_and_other_libraries_come_out_in_one_form(json_lines: io.StringIO) -> None:
    Logger("bandmaster.x").info("admitted", execution_id="a", attempt=2)
    logging.getLogger("dramatiq.worker").warning("Something %s", "odd")
    ours, theirs = (json.loads(line) for line in json_lines.getvalue().splitlines())
    assert ours["event"] == "admitted"
    assert (ours["execution_id"], ours["attempt"], ours["level"], ours["logger"]) == ("a", 2, "info", "bandmaster.x")
    assert (theirs["event"], theirs["level"], theirs["logger"]) == ("Something odd", "warning", "dramatiq.worker")
    assert ours.keys() - {"execution_id", "attempt"} == theirs.keys()


@pytest.mark.parametrize("wrap", [False, True])
def test_a_dramatiq_message_is_named_without_its_arguments(json_lines: io.StringIO, wrap: bool) -> None:
    message = MessageProxy(a_message()) if wrap else a_message()
    logging.getLogger("dramatiq.worker").error("Failed to process message %s with unhandled exception.", message)
    assert json.loads(json_lines.getvalue())["event"] == (
        "Failed to process message execution_requested[m-1] with unhandled exception."
    )


def test_a_call_of_an_actor_is_named_without_its_arguments(json_lines: io.StringIO) -> None:
    configure_logging(LoggingSettings(format="json", level="DEBUG"), stream=json_lines)

    @dramatiq.actor(broker=StubBroker())
    def work(payload: str) -> None: ...

    work("SECRET")
    assert [json.loads(line)["event"] for line in json_lines.getvalue().splitlines()][:1] == ["Received."]
    assert "SECRET" not in json_lines.getvalue()


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_traceback_shows_no_local_variables(form: str, request: pytest.FixtureRequest) -> None:
    stream: io.StringIO = request.getfixturevalue("console" if form == "console" else "json_lines")
    script = "SECRET".lower()
    try:
        raise RuntimeError("it broke")
    except RuntimeError:
        Logger("x").exception("run_failed")
    assert "it broke" in stream.getvalue()
    assert script not in stream.getvalue()


def test_a_value_forges_neither_a_line_nor_a_colour(console: io.StringIO) -> None:
    Logger("x").info("refused", user_id="a\n2030-01-01 [info] admitted \x1b[31m")
    logging.getLogger("dramatiq").warning("odd\nname \x1b[31m")
    assert len(console.getvalue().splitlines()) == 2
    assert "\x1b" not in console.getvalue()


def test_events_below_the_level_are_left_out() -> None:
    stream = io.StringIO()
    configure_logging(LoggingSettings(level="ERROR"), stream=stream)
    Logger("x").warning("renewed")
    logging.getLogger("y").warning("renewed")
    assert stream.getvalue() == ""


def test_configured_again_it_starts_anew(json_lines: io.StringIO) -> None:
    second = io.StringIO()
    configure_logging(LoggingSettings(format="json"), stream=second)
    Logger("x").info("renewed")
    assert json_lines.getvalue() == ""
    assert len(second.getvalue().splitlines()) == 1
