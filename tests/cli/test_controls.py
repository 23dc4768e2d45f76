"""Limits, pauses, settings and status with the real command: what is turned holds at once."""

from cli.driving import Driver


def test_a_limited_gate_holds_back_until_the_limit_is_lifted(driver: Driver) -> None:
    assert driver.json("limit", "tenant:42", "0") == {"limits": [{"gate": "tenant:42", "limit": 0, "held": 0}]}
    execution_id = driver.submit("--gate", "tenant:42", "--", "true")
    shown = driver.json("show", execution_id)
    assert (shown["state"], shown["gates"]) == ("PENDING", ["tenant:42"])
    assert shown["explanation"]["reasons"][0] == "gate tenant:42 is full: 0 of 0 held"
    assert {"gate": "tenant:42", "limit": 0, "held": 0} in driver.json("status")["limits"]
    assert driver.run("limit").out.splitlines()[1].split() == ["tenant:42", "0", "0"]
    assert driver.json("limit", "tenant:42", "none") == {"limits": [{"gate": "tenant:42", "limit": None, "held": None}]}
    driver.wait_for(execution_id, "COMPLETED")


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
