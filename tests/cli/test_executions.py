"""Submitting, looking at and ending executions with the real command, while everything really runs."""

import signal
import subprocess
from pathlib import Path

import pytest
from cli.driving import COMMAND, Driver

from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

COLOURED = r"""
import sys
print("\x1b[31mred\x1b[0m and \u202eback", "café")
sys.stdout.buffer.write(b"\xff\r\n\ttab\n")
"""


def test_a_script_runs_and_everything_about_it_is_shown(driver: Driver) -> None:
    name = driver.script("coloured.py", COLOURED)
    answer = driver.run("submit", name, "--user", "ann", "--label", "team=ops", "--wait", "--json")
    assert answer.code == 0
    (sent,) = answer.json["executions"]
    assert (sent["accepted"], sent["source"], sent["state"], sent["result"]["exit_code"]) == (
        True,
        name,
        "COMPLETED",
        0,
    )
    shown = driver.json("show", sent["execution_id"][:30])
    assert [entry["verb"] for entry in shown["timeline"]] == ["park", "admit", "hand_over", "release"]
    assert (shown["user_id"], shown["attempt"], shown["priority"]) == ("ann", 1, "NORMAL")
    human = driver.run("show", sent["execution_id"]).out
    assert "COMPLETED" in human
    assert r"  \x1b[31mred\x1b[0m and \u202eback café" in human
    assert (
        driver.run("logs", sent["execution_id"]).out == "\\x1b[31mred\\x1b[0m and \\u202eback café\n\\xff\\r\n\ttab\n"
    )
    raw = subprocess.run(
        [*COMMAND, "logs", "--raw", "--tail", "8", sent["execution_id"]],
        cwd=driver.folder,
        env=driver.environment,
        capture_output=True,
        check=True,
    )
    assert raw.stdout == b"\xff\r\n\ttab\n"


def test_a_command_that_fails_shows_its_exit_code_and_ends_the_wait_with_1(driver: Driver) -> None:
    answer = driver.run("submit", "--wait", "--timeout", "1m", "--", "sh", "-c", "echo oops >&2; exit 7")
    assert answer.code == 1
    execution_id = answer.out.split()[0]
    assert "position 0" in answer.out
    assert answer.out.splitlines()[-1].split()[:3] == [execution_id, "FAILED", "7"]
    failed = driver.json("list", "--state", "failed")["executions"]
    assert [one["state"] for one in failed if one["execution_id"] == execution_id] == ["FAILED"]
    assert driver.json("logs", execution_id)["output"] == "oops\n"


def test_many_files_are_sent_at_once_with_a_result_each(driver: Driver) -> None:
    names = [driver.script(f"many {number}.py", f"raise SystemExit({number} == 3)") for number in range(8)]
    answer = driver.run("submit", *names, "--wait", "--json")
    assert answer.code == 1
    states = {sent["source"]: sent["state"] for sent in answer.json["executions"]}
    assert states == {name: "FAILED" if name == "many 3.py" else "COMPLETED" for name in names}


def test_a_script_from_standard_input_runs(driver: Driver) -> None:
    answer = driver.run("submit", "-", "--runtime", "sh", "--wait", "--json", stdin=b"echo from $0 | tr a-z A-Z")
    assert answer.code == 0
    assert answer.json["executions"][0]["result"]["output_tail"].startswith("FROM ")


@pytest.mark.usefixtures("paused")
def test_what_waits_is_listed_in_order_and_can_be_moved_and_cancelled(driver: Driver) -> None:
    low, high, normal = (driver.submit("--priority", name, "--", "true") for name in ("low", "HIGH", "2"))
    waiting = driver.json("list", "--state", "waiting")["executions"]
    assert [(one["execution_id"], one["position"]) for one in waiting] == [(high, 0), (normal, 1), (low, 2)]
    assert driver.json("show", low)["explanation"]["reasons"][0] == "everything is paused"
    assert driver.json("priority", low, "critical")["executions"][0]["position"] == 0
    assert "why        everything is paused" in driver.run("show", low).out
    answer = driver.run("cancel", low, high, "--json")
    assert answer.code == 0
    assert [one["state"] for one in answer.json["executions"]] == ["CANCELLED", "CANCELLED"]
    again = driver.run("cancel", low, normal, "no-such-id")
    assert again.code == 3
    assert "has ended already: CANCELLED" in again.err
    assert "no execution 'no-such-id' is known" in again.err
    assert driver.state(normal) == "CANCELLED"
    moved = driver.run("priority", normal, "high")
    assert (moved.code, moved.err) == (
        1,
        f"bandmaster: {normal} does not wait any more (state CANCELLED): its priority was not changed\n",
    )


def test_what_runs_is_cancelled_and_gives_its_slot_back(driver: Driver) -> None:
    execution_id = driver.submit("--", "sleep", "60")
    driver.wait_for(execution_id, "POD")
    assert driver.json("status")["active_count"] == 1
    cancelled = driver.json("cancel", execution_id)["executions"][0]
    assert cancelled == {"execution_id": execution_id, "code": "OK", "state": "CANCELLING"}
    # Sooner than the watch would find it by itself.
    driver.wait_for(execution_id, "CANCELLED")
    assert driver.json("status")["active_count"] == 0


def test_output_is_followed_until_the_end(driver: Driver) -> None:
    execution_id = driver.submit("--", "sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.3; done")
    assert driver.run("logs", "-f", execution_id).out == "1\n2\n3\n"
    assert driver.state(execution_id) == "COMPLETED"


def test_ctrl_c_ends_the_wait_and_not_the_execution(driver: Driver, tmp_path: Path) -> None:
    with (tmp_path / "err").open("w") as err:
        waiting = subprocess.Popen(
            [*COMMAND, "submit", "--wait", "--", "sleep", "60"],
            cwd=driver.folder,
            env=driver.environment,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            # Started from a shell's background job, it would inherit that SIGINT is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        assert waiting.stdout is not None
        execution_id = waiting.stdout.readline().split()[0]
        waiting.stdout.close()
        driver.wait_for(execution_id, "POD")
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(timeout=30) == 130
    assert (tmp_path / "err").read_text() == (
        f"bandmaster: not waiting any longer; 1 go on: look with `bandmaster show {execution_id}`\n"
    )
    assert driver.state(execution_id) == "POD"
    driver.json("cancel", execution_id)


def test_a_later_time_is_kept_until_it_is_due(driver: Driver) -> None:
    later = driver.submit("--at", "+1h30m", "--", "true")
    fixed = driver.submit("--at", "2099-12-31T12:00", "--", "true")
    scheduled = driver.json("list", "--state", "scheduled")["executions"]
    assert [one["execution_id"] for one in scheduled] == [later, fixed]
    assert scheduled[1]["due_at"].startswith("2099-12-31T") or scheduled[1]["due_at"].startswith("2100-01-01T")
    assert "it is due at" in driver.run("show", later).out
    driver.json("cancel", later, fixed)


@pytest.mark.usefixtures("paused")
def test_what_is_not_accepted_is_said_and_the_rest_is_sent(driver: Driver) -> None:
    driver.json("setting", "max_executions_per_user", "1")
    names = [driver.script(f"ours{number}.py", "pass") for number in range(2)]
    answer = driver.run("submit", *names, "--user", "bob", "--json")
    assert answer.code == 5
    accepted, refused = answer.json["executions"]
    assert (accepted["accepted"], refused["accepted"], refused["code"]) == (True, False, "user_limit")
    assert answer.err.startswith("bandmaster: ours1.py: execution")
    assert driver.json("setting", "max_executions_per_user", "default") == {
        "settings": {"max_executions_per_user": 100}
    }
    twice = driver.run("submit", "--id", accepted["execution_id"], "--", "true")
    assert twice.code == 5
    assert "that id is taken (state PENDING)" in twice.err
    driver.json("cancel", accepted["execution_id"])


@pytest.mark.usefixtures("paused")
def test_the_beginning_of_an_id_is_enough_unless_it_could_mean_several(driver: Driver) -> None:
    for name in ("job-alpha", "job-also"):
        driver.submit("--id", name, "--", "true")
    answer = driver.run("show", "job-al")
    assert answer.code == 2
    assert answer.err == (
        "bandmaster: 'job-al' is the beginning of 2 executions (job-alpha, job-also): type more of it\n"
    )
    assert driver.json("cancel", "job-alp", "job-als")["executions"][1]["execution_id"] == "job-also"


def test_a_dead_letter_is_listed_run_again_under_a_new_id_and_dropped(driver: Driver) -> None:
    with driver.connect() as client:
        # A lane that no worker here consumes, so that the test is its worker.
        queue = ExecutionQueueService(client, lane="spare")
        for name in ("dead-1", "dead-2"):
            queue.enqueue({"execution_id": name, "command": ["true"], "metadata": {"user_id": "eve"}})
            (grant,) = queue.transitions.admit(("spare",), 1).grants
            queue.transitions.release(name, grant.attempt, State.FAILED, reason="lease_lost", dead=True)
        assert [one["execution_id"] for one in driver.json("dead")["executions"]] == ["dead-2", "dead-1"]
        assert "dead-1" in driver.run("dead").out
        assert driver.json("dead", "drop", "dead-2") == {"dropped": ["dead-2"]}
        (retried,) = driver.json("dead", "retry", "dead-1")["retried"]
        again = driver.json("show", retried["new_execution_id"])
        assert (again["state"], again["lane"], again["user_id"]) == ("PENDING", "spare", "eve")
        assert again["event"]["command"] == ["true"]
        assert again["event"]["execution_id"] == again["execution_id"] == retried["new_execution_id"]
        assert queue.views.dead() == []
        assert driver.run("dead", "drop", "dead-1").code == 3
        driver.json("cancel", again["execution_id"])
