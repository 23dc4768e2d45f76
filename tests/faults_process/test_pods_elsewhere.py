"""Two folders under one prefix: their workers would take each other's pods for lost, and run everything again."""

from pathlib import Path

import pytest
from proxy import Command, Proxy

from bandmaster.actors.pods_place import CLAIMED_MS
from bandmaster.scheduler.model.states import State
from faults_process.installation import Installation
from faults_process.members import WORKER_READY
from waiting import wait_until

pytestmark = pytest.mark.slow


def test_a_worker_with_another_folder_ends_and_what_runs_runs_once(installation: Installation, tmp_path: Path) -> None:
    elsewhere = {"BANDMASTER_PATHS__VAR_DIR": str(tmp_path / "elsewhere")}
    one = installation.members.worker()
    execution_id = installation.submit(installation.until_told)
    installation.wait_for(execution_id, State.POD)
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
    installation: Installation, proxy: Proxy, tmp_path: Path
) -> None:
    elsewhere = {"BANDMASTER_PATHS__VAR_DIR": str(tmp_path / "elsewhere")}
    claim = installation.queue.scripts.keys.lock("pods")
    looks: list[Command] = []

    def note(command: Command) -> bool:
        if command[0] == b"SET" and command[1] == claim.encode():
            looks.append(command)
        return False

    proxy.lose_reply(note)
    one = installation.members.worker()
    kept = wait_until(lambda: installation.client.get(claim), what="the claim")
    one.kill()
    # Without a TTL, so that the other one meets it, however slowly it boots.
    installation.client.set(claim, kept)  # type: ignore[arg-type]
    other = installation.members.worker(url=installation.through(proxy), environment=elsewhere, ready=None)
    # What it says comes to its log only when it has booted. It looks again, so it met the claim.
    wait_until(lambda: len(looks) > 1, what="its second look")
    installation.client.delete(claim)  # as when its time is over
    other.wait_until_it_says(WORKER_READY)
    assert other.says("pods_elsewhere"), "it waited until the claim was over"
    execution_id = installation.submit("true")
    installation.wait_for(execution_id, State.COMPLETED)
    assert 0 < installation.client.pttl(claim) <= CLAIMED_MS


def test_a_worker_that_slept_while_another_folder_was_taken_ends(installation: Installation, tmp_path: Path) -> None:
    slept = installation.members.worker()
    slept.stop()
    installation.members.worker(environment={"BANDMASTER_PATHS__VAR_DIR": str(tmp_path / "elsewhere")})
    slept.go_on()
    wait_until(lambda: slept.process.poll() is not None, what="the end of the one that slept")
    said = slept.tail(200)
    assert said.count("pods_elsewhere") == 1, said
    assert "Killing worker process" not in said, "it ends as it does for a process manager"
