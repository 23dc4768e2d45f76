"""Pauses, settings and status with the real command: what is turned holds at once."""

import subprocess
import sys

import pytest
from cli.driving import Driver

from bandmaster.scheduler.model.operators import user_at_host
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

pytestmark = pytest.mark.slow


def test_a_pause_of_one_action_holds_back_that_action_only(driver: Driver) -> None:
    assert driver.json("pause", "action:slow") == {"paused": "action:slow", "changed": True}
    assert driver.run("pause", "action:slow").out == "action:slow was paused already\n"
    held = driver.submit("--action", "slow", "--", "true")
    assert driver.run("submit", "--wait", "--", "true").code == 0
    assert driver.json("show", held)["explanation"]["reasons"][0] == "action:slow is paused"
    assert list(driver.json("status")["paused"]) == ["action:slow"]
    assert driver.json("resume", "action:slow") == {"resumed": "action:slow", "changed": True, "paused": []}
    driver.wait_for(held, "COMPLETED")


def test_a_setting_is_changed_for_everybody_and_goes_back_to_its_default(driver: Driver) -> None:
    assert driver.json("setting", "max_concurrent_executions", "3") == {"settings": {"max_concurrent_executions": 3}}
    assert driver.json("status")["settings"]["max_concurrent_executions"] == 3
    assert driver.json("setting", "max_concurrent_executions", "default")["settings"] == {
        "max_concurrent_executions": 10
    }
    assert driver.json("setting").keys() == {"settings"}


def test_a_setting_that_is_shown_as_none_is_lifted_by_that_word(driver: Driver) -> None:
    assert "max_concurrent  none" in driver.run("setting", "max_concurrent").out
    assert driver.json("setting", "max_concurrent", "3") == {"settings": {"max_concurrent": 3}}
    assert driver.json("setting", "max_concurrent", "none") == {"settings": {"max_concurrent": None}}


def test_a_bound_of_a_lane_is_set_and_lifted_and_shown_by_lane(driver: Driver) -> None:
    assert driver.json("setting", "max_queue_size", "5", "--lane", "emails") == {"settings": {"max_queue_size": 5}}
    assert "lane:emails so far" in driver.run("setting", "--lane", "emails").err
    bounds = driver.json("setting", "--lane", "emails")["settings"]
    assert (bounds["max_queue_size"], bounds["max_concurrent_executions"]) == (5, None)
    assert driver.json("setting", "max_queue_size")["settings"] == {"max_queue_size": 10_000}
    assert "max_queue_size  none" in driver.run("setting", "max_queue_size", "default", "--lane", "emails").out
    assert driver.json("setting", "max_queue_size", "7", "--lane", "emails") == {"settings": {"max_queue_size": 7}}
    lifted = driver.json("setting", "max_queue_size", "none", "--lane", "emails")
    assert lifted == {"settings": {"max_queue_size": None}}
    refused = driver.run("setting", "lease_ttl_ms", "5", "--lane", "emails")
    assert refused.code == 2
    assert "'lease_ttl_ms' is not a bound of a lane" in refused.err
    status = driver.json("status")
    (own,) = (each for each in status["lanes"] if each["lane"] == "executions")
    assert own["bounds"]["max_concurrent_executions"] == 10
    assert sum(each["queue_depth"] for each in status["lanes"]) == status["queue_depth"]
    assert "lanes      " in driver.run("status").out
    assert "executions  0 waiting, 0 of 10 running, 0 scheduled" in driver.run("status").out


def test_status_says_first_what_is_to_be_looked_at(driver: Driver) -> None:
    driver.json("pause", "action:jam")
    driver.json("setting", "max_queue_size", "3")
    held = [driver.submit("--action", "jam", "--", "true") for _ in range(3)]
    sentence = (
        "Lane executions: 3 of 3 places are taken by what waits or is scheduled; it is full, and refuses what is sent"
    )
    verdict = {"code": "queue_nearly_full", "severity": "critical", "subject": "lane:executions", "sentence": sentence}
    assert driver.json("status")["verdicts"][0] == verdict
    shown = " ".join(driver.run("status").out.split())
    assert shown.startswith(f"verdicts critical: {sentence}")
    for execution_id in held:
        driver.run("cancel", execution_id)
    driver.json("setting", "max_queue_size", "default")
    driver.json("resume", "action:jam")
    assert "queue_nearly_full" not in {each["code"] for each in driver.json("status")["verdicts"]}


def test_status_names_who_is_there_and_where_executions_run(driver: Driver) -> None:
    status = driver.json("status")
    assert (status["queue_depth"], status["active_count"], status["dead_count"]) == (0, 0, 0)
    assert status["pending_by_priority"] == dict.fromkeys(("CRITICAL", "HIGH", "NORMAL", "LOW", "BACKGROUND"), 0)
    assert status["worker_asked_ms_ago"] < 5000
    assert status["leader"]["epoch"] >= 1
    assert status["server"]["url"] == f"unix://{driver.folder}/var/redis/redis.sock"
    assert status["server"]["version"]
    assert status["backend"] == {
        "description": f"local processes under {driver.folder}/var/pods",
        "answers": True,
        "problem": None,
    }
    human = driver.run("status").out
    assert "waiting    0  (critical 0  high 0  normal 0  low 0  background 0)" in human
    assert "paused     nothing" in human


def test_what_nobody_has_used_yet_is_turned_and_said(driver: Driver) -> None:
    driver.run("submit", "--action", "typist", "--user", "ann", "--wait", "--", "true")
    paused = driver.run("pause", "action:typost")
    assert (paused.code, paused.out) == (0, "action:typost paused\n")
    assert paused.err == (
        "bandmaster: no execution has passed action:typost so far: it holds for what comes; "
        "did you mean action:typist?\n"
    )
    assert "lane:executoins so far" in driver.run("pause", "lane:executoins").err
    assert "did you mean lane:executions?" in driver.run("pause", "lane:executoins").err
    driver.run("submit", "--action", "execution", "--wait", "--", "true")
    assert driver.run("share", "executoin", "user").err == (
        "bandmaster: no worker has asked for lane:executoin so far: it holds for what comes; "
        "did you mean lane:executions?\n"
    )
    driver.run("share", "executoin", "none")
    assert "did you mean" not in driver.run("setting", "max_queue_size", "20000", "--lane", "exe").err
    assert driver.run("setting", "max_queue_size", "20000", "--lane", "slot:*").err == ""
    assert driver.run("setting", "max_queue_size", "20000", "--lane", "slot:core.http.get").err == (
        "bandmaster: no code has asked for lane:slot:core.http.get so far: it holds for what comes\n"
    )
    for lane in ("exe", "slot:*", "slot:core.http.get"):
        driver.run("setting", "max_queue_size", "none", "--lane", lane)
    looked_at = "nothing waits or runs under user:anne, nor has in the latest 5,000 transitions"
    assert looked_at in driver.run("limit", "user:anne", "3").err
    for known in ("action:typist", "lane:executions", "*"):
        assert driver.run("pause", known).err == ""
        driver.json("resume", known)
    assert driver.run("limit", "user:ann", "3").err == ""
    for name in ("action:typost", "lane:executoins"):
        driver.json("resume", name)
    for name in ("user:ann", "user:anne"):
        assert driver.run("limit", name, "none").err == ""


def test_gates_are_listed_with_the_most_blocked_first(driver: Driver) -> None:
    for name, most in (("tenant:b", "0"), ("tenant:a", "1"), ("tenant:c", "0")):
        driver.json("limit", name, most)
    ids = [driver.submit("--gate", name, "--", "true") for name in ("tenant:b", "tenant:c", "tenant:c")]

    def blocked() -> list[tuple[str, int, int, int]]:
        listed = driver.json("gates")["gates"]
        return [(each["gate"], each["held"], each["limit"], each["waiting"]) for each in listed]

    wait_until(
        lambda: blocked() == [("tenant:c", 0, 0, 2), ("tenant:b", 0, 0, 1), ("tenant:a", 0, 1, 0)], what="all looked"
    )
    assert driver.run("gates").out.splitlines()[1].split() == ["tenant:c", "2", "0", "0"]
    answer = driver.run("gates", "-n", "1")
    assert (len(answer.out.splitlines()), answer.err) == (2, "bandmaster: there are 2 more; see --limit\n")
    driver.json("cancel", *ids)
    for name in ("tenant:a", "tenant:b", "tenant:c"):
        driver.json("limit", name, "none")
    driver.json("pause", "tenant:d")
    assert driver.json("gates")["gates"] == [
        {
            "gate": "tenant:d",
            "limit": None,
            "held": 0,
            "waiting": 0,
            "limited_by": None,
            "declared": False,
            "auto": None,
            "paused": True,
            "weight": 1,
            "rate": None,
            "rated_by": None,
            "rate_declared": False,
            "opens_in_ms": None,
        }
    ]
    assert driver.run("gates").out.splitlines()[1].split() == ["tenant:d", "0", "0", "paused"]
    driver.json("resume", "tenant:d")
    assert driver.run("gates").out == "no gate has a limit, a rate, a weight or a pause\n"


def test_lanes_are_listed_with_their_workers_and_only_one_without_is_missed(idle: Driver) -> None:
    command = [sys.executable, "-m", "bandmaster.scheduler.server.embedded"]
    server = subprocess.Popen(command, cwd=idle.folder, env=idle.environment, stderr=subprocess.DEVNULL)
    try:
        with idle.connect() as client:
            assert "no worker has asked for lane executions yet" in idle.run("status").out
            assert idle.run("workers").out == "no worker has asked for anything yet, and nothing waits\n"
            application = ExecutionQueueService(client, lane="emails")
            application.transitions.admit(("emails",), 1, consumer=True)  # its worker asks
            assert "workers    ask for lane emails\n" in idle.run("status").out
            (lane,) = idle.json("workers")["lanes"]
            assert (lane["lane"], lane["live"], lane["executions"]) == ("emails", True, 0)
            assert idle.run("workers").out.splitlines()[1].split()[:2] == ["emails", "live"]

            missed = "no worker has asked for lane executions yet: start one with `bandmaster up`"
            assert missed in idle.run("submit", "--", "true").err
            assert missed in idle.run("status").out
            assert {each["lane"]: each["live"] for each in idle.json("workers")["lanes"]} == {
                "emails": True,
                "executions": False,
            }
            # What is retried goes back to its own lane, which has a worker.
            application.enqueue({"execution_id": "dead-mail", "command": ["true"]})
            (grant,) = application.transitions.admit(("emails",), 1).grants
            application.transitions.release("dead-mail", grant.attempt, State.FAILED, reason="x", dead=True)
            assert idle.run("dead", "retry", "dead-mail").err == ""
    finally:
        server.terminate()
        server.wait(timeout=30)


def test_who_changed_what_is_told(driver: Driver) -> None:
    driver.json("limit", "tenant:told", "3")
    driver.json("limit", "tenant:told", "none")
    lifted, limited = driver.json("changes", "-n", "2")["changes"]
    assert (limited["verb"], limited["name"], limited["before"], limited["after"]) == (
        "limit",
        "tenant:told",
        None,
        "3",
    )
    assert (lifted["before"], lifted["after"]) == ("3", None)
    assert lifted["by"] == limited["by"] == user_at_host()
    assert user_at_host() in driver.run("changes").out


def test_who_cancelled_an_execution_is_told_with_its_timeline(driver: Driver, paused: None) -> None:
    execution_id = driver.submit("--", "true")
    driver.json("priority", execution_id, "low")
    driver.json("cancel", execution_id)
    timeline = {each["verb"]: each for each in driver.json("show", execution_id)["timeline"]}
    assert {timeline[verb]["by"] for verb in ("park", "reprioritise", "cancel")} == {user_at_host()}
    assert f"by {user_at_host()}" in driver.run("show", execution_id).out


def test_an_action_that_nobody_uses_is_dropped(driver: Driver, paused: None) -> None:
    execution_id = driver.submit("--action", "typo", "--", "true")
    refused = driver.run("actions", "--drop", "typo")
    assert (refused.code, refused.err) == (
        1,
        "bandmaster: typo is used: one of it waits, is scheduled or runs; nothing was changed\n",
    )
    driver.json("cancel", execution_id)
    assert {"typo"} <= {each["action"] for each in driver.json("actions", "-n", "1000")["actions"]}
    assert driver.run("actions", "--drop", "typo").out == "typo dropped\n"
    assert driver.run("actions", "--drop", "typo").code == 3
    assert "typo" not in driver.run("actions").out
