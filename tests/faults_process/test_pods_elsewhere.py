"""Two folders under one prefix: their workers would take each other's pods for lost, and run everything again."""

from pathlib import Path

import pytest

from bandmaster.actors.pods_place import CLAIMED_MS
from bandmaster.scheduler.model.states import State
from faults_process.installation import Installation
from waiting import wait_until

pytestmark = pytest.mark.slow


def test_a_worker_with_another_folder_ends_and_what_runs_runs_once(installation: Installation, tmp_path: Path) -> None:
    elsewhere = {"BANDMASTER_PATHS__VAR_DIR": str(tmp_path / "elsewhere")}
    one = installation.members.worker()
    execution_id = installation.submit(installation.until_told)
    installation.wait_for(execution_id, State.RUNNING)
    other = installation.members.worker(environment=elsewhere, ready=None)
    wait_until(lambda: other.process.poll() is not None, what="the end of the other worker")
    assert other.process.returncode != 0
    said = other.tail(200)
    for told in (
        "worker_not_started",
        str(tmp_path / "elsewhere"),
        str(installation.folder / "pods"),
        "dramatiq_namespace",
    ):
        assert told in said, said
    assert not one.says("pods_elsewhere")
    installation.tell()
    installation.wait_for(execution_id, State.COMPLETED)
    assert installation.runs(execution_id) == [1]


def test_a_worker_takes_over_when_nobody_lives_who_keeps_to_another_folder(
    installation: Installation, tmp_path: Path
) -> None:
    elsewhere = {"BANDMASTER_PATHS__VAR_DIR": str(tmp_path / "elsewhere")}
    one = installation.members.worker()
    one.kill()
    other = installation.members.worker(environment=elsewhere)
    assert other.says("pods_elsewhere"), "it waited until the claim was over"
    execution_id = installation.submit("true")
    installation.wait_for(execution_id, State.COMPLETED)
    assert 0 < installation.client.pttl(installation.queue.scripts.keys.lock("pods")) <= CLAIMED_MS


def test_a_worker_that_slept_while_another_folder_was_taken_ends(installation: Installation, tmp_path: Path) -> None:
    slept = installation.members.worker()
    slept.stop()
    installation.members.worker(environment={"BANDMASTER_PATHS__VAR_DIR": str(tmp_path / "elsewhere")})
    slept.go_on()
    wait_until(lambda: slept.process.poll() is not None, what="the end of the one that slept")
    said = slept.tail(200)
    assert said.count("pods_elsewhere") == 1, said
    assert "Killing worker process" not in said, "it ends as it does for a process manager"
