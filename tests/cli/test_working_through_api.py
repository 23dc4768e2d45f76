"""Work that is submitted, watched and steered through the API, in a queue that runs."""

from typing import Any

import pytest
from cli.driving import Driver
from cli.through_api import Sides

from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

pytestmark = pytest.mark.slow


def test_what_is_submitted_through_the_api_runs_and_is_waited_for(sides: Sides) -> None:
    done = sides.through("submit", "--wait", "--user", "ann", "--json", "--", "sh", "-c", "echo out; exit 3")
    (one,) = done.json["executions"]
    assert (done.code, one["state"], one["result"]["exit_code"], one["result"]["output_tail"]) == (
        1,
        "FAILED",
        3,
        "out\n",
    )
    assert sides.through("logs", one["execution_id"]).out == "out\n"
    # Not the command's own options.
    echoed = sides.through("submit", "--user", "ann", "--wait", "--", "echo", "--url", "x")
    assert echoed.code == 0
    assert sides.through("logs", echoed.out.split()[0]).out == "--url x\n"


def test_a_dead_letter_runs_again_through_the_api(sides: Sides) -> None:
    with sides.driver.connect() as client:
        queue = ExecutionQueueService(client)
        queue.on("letters").enqueue({"execution_id": "dies", "command": ["true"], "metadata": {"user_id": "bob"}})
        queue.transitions.admit(("letters",), 1)
        queue.transitions.settle(Release("dies", 1, State.FAILED, reason="crashed", dead=True))
        again = sides.through("dead", "retry", "die", "--json")
        (one,) = again.json["retried"]
        assert (again.code, one["execution_id"], one["position"]) == (0, "dies", 0)
        assert sides.through("dead", "drop", "dies").code == 3
        assert sides.through("cancel", one["new_execution_id"]).code == 0
        queue.close()


def test_what_the_api_cannot_give_is_refused_in_one_line(sides: Sides) -> None:
    for words in (("logs", "--raw", "x"), ("logs", "-f", "x"), ("dead", "-n", "201")):
        answer = sides.through(*words)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)


def test_a_token_without_operate_sees_and_changes_its_own(sides: Sides, driver: Driver) -> None:
    token = driver.json("token", "create", "--owner", "joe", "--scope", "submit")["token"]["token"]
    joe = ("--url", sides.url, "--token", token)
    driver.json("pause")
    try:
        own = driver.run(*joe, "submit", "--json", "--", "true").json["executions"][0]["execution_id"]
        others = driver.submit("--user", "ann", "--", "true")
        listed = driver.run(*joe, "list", "--state", "waiting", "--json").json["executions"]
        assert [(one["execution_id"], one["user_id"]) for one in listed] == [(own, "joe")]
        assert driver.run(*joe, "show", others).code == 3
        refused = driver.run(*joe, "pause", "action:pod")
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "operate" in refused.err
        assert driver.run(*joe, "submit", "-p", "critical", "--", "true").code == 2
        assert driver.run(*joe, "cancel", own, others).code == 3
        assert (driver.state(own), driver.state(others)) == ("CANCELLED", "PENDING")
        driver.json("cancel", others)
    finally:
        driver.json("resume")


@pytest.mark.parametrize("is_valid", [True, False])
def test_what_is_submitted_belongs_to_the_trace_of_the_environment_unless_that_is_none(
    sides: Sides, is_valid: bool
) -> None:
    trace_id, state = "4bf92f3577b34da6a3ce929d0e0e4736", "vendor=1"
    parent = f"00-{trace_id}-00f067aa0ba902b7-00"
    given: Any = {"TRACEPARENT": parent if is_valid else parent.upper(), "TRACESTATE": state}
    for options in ((), sides.options):
        arguments = (*options, "submit", "--wait", "--json", "--", "sh", "-c", "echo $TRACEPARENT $TRACESTATE")
        answer = sides.driver.run(*arguments, **given)
        assert answer.code == 0, answer.err
        (sent,) = answer.json["executions"]
        assert sent["result"]["output_tail"].split() == ([parent, state] if is_valid else [])
