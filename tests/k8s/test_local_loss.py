"""Whoever dies, a pod is found again with its outcome, or is settled as lost with nothing of it running."""

import os
import shutil
import sys
import time
from pathlib import Path
from subprocess import PIPE, Popen

import psutil
import pytest
from living_pods import CREATE, ended, gone, processes_under, running, spec, supervisor_of

from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.local.records import PREPARED_PREFIX, Folder
from bandmaster.k8s.pods import PodPhase, Reason
from waiting import wait_until


def test_a_second_process_finds_running_and_ended_pods(pods: LocalPods, root: Path) -> None:
    lasting = pods.create(spec("sleep 600"))
    short = pods.create(spec("echo over"))
    ended(pods, short.name)
    running(pods, lasting.name)
    found = {status.name: status for status in LocalPods(root).list()}
    assert found.keys() == {lasting.name, short.name}
    assert found[lasting.name].phase is PodPhase.RUNNING
    outcome = found[short.name].outcome
    assert outcome is not None
    assert outcome.output_tail == "over\n"


def test_a_pod_outlives_its_killed_creator(pods: LocalPods, root: Path, tmp_path: Path) -> None:
    line = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo outlived"
    wanted = spec(line)
    command = [sys.executable, "-c", CREATE, str(root), wanted.execution_id, line]
    with Popen(command, stdin=PIPE, stdout=PIPE, start_new_session=True) as creator:
        assert creator.stdin is not None
        assert creator.stdout is not None
        creator.stdin.write(b"go\n")
        creator.stdin.flush()
        assert creator.stdout.readline() == b"ready\n"
        uid = creator.stdout.readline().decode().strip()
        os.killpg(creator.pid, 9)
    assert running(pods, wanted.name).uid == uid
    (tmp_path / "go").touch()
    outcome = ended(pods, wanted.name)
    assert (outcome.exit_code, outcome.output_tail) == (0, "outlived\n")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere what left its program's group is not found")
def test_a_pod_whose_supervisor_is_killed_is_lost_and_nothing_of_it_runs(pods: LocalPods, root: Path) -> None:
    line = "trap '' TERM; (trap '' TERM; sleep 600) & setsid sleep 601 & echo up; sleep 602"
    created = pods.create(spec(line))
    status = running(pods, created.name, printed=b"up")
    supervisor_of(root, status).kill()
    outcome = ended(pods, created.name)
    assert (outcome.exit_code, outcome.signal, outcome.reason) == (None, None, Reason.NODE_LOST)
    assert outcome.output_tail == "up\n"
    assert processes_under(root) == []
    assert [status.outcome for status in LocalPods(root).list()] == [outcome]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel does not end the program")
def test_a_program_dies_with_its_supervisor_even_if_nobody_looks(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec(command=("sleep", "600")))
    supervisor_of(root, running(pods, created.name)).kill()
    wait_until(lambda: not processes_under(root), what="the end of the program")


def test_a_reused_process_number_is_not_taken_for_the_lost_program(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec(command=("sleep", "600")))
    supervisor = supervisor_of(root, running(pods, created.name))
    supervisor.kill()
    wait_until(lambda: not processes_under(root), what="the end of the program")
    with Popen(["sleep", "600"], start_new_session=True) as bystander:
        folder = Folder(str(root / "pods" / created.name))
        progress = folder.read_progress()
        assert progress is not None
        progress.program_pid = bystander.pid
        folder.write_progress(progress)
        assert ended(pods, created.name).reason is Reason.NODE_LOST
        assert bystander.poll() is None
        bystander.kill()


def test_a_machine_that_shuts_down_loses_the_pod_with_its_program_ended_in_order(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.01; done"))
    supervisor_of(root, running(pods, created.name, printed=b"up")).terminate()
    outcome = ended(pods, created.name)
    assert outcome.reason is Reason.NODE_LOST
    assert outcome.output_tail.endswith("saved\n")


def test_a_folder_that_somebody_removes_leaves_no_supervisor_behind(
    pods: LocalPods, root: Path, tmp_path: Path
) -> None:
    created = pods.create(spec(f"until [ -e {tmp_path}/go ]; do sleep 0.01; done"))
    running(pods, created.name)
    shutil.rmtree(root / "pods" / created.name)
    assert pods.get(created.name) is None
    (tmp_path / "go").touch()
    wait_until(lambda: not processes_under(root), what="the end of the supervisor")


def test_a_lost_pod_can_be_deleted(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("sleep 600"))
    supervisor_of(root, running(pods, created.name)).kill()
    assert pods.delete(created.name, uid=created.uid)
    gone(pods, created.name)
    assert processes_under(root) == []


def test_a_deletion_whose_asker_died_before_it_woke_the_supervisor_is_finished_by_the_next_look(
    pods: LocalPods, root: Path
) -> None:
    created = pods.create(spec("sleep 600"))
    running(pods, created.name)
    folder = Folder(str(root / "pods" / created.name))
    folder.mark(folder.deleting, created.uid)
    gone(pods, created.name)


def test_a_deletion_is_finished_although_the_supervisor_hangs(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("sleep 600"))
    supervisor = supervisor_of(root, running(pods, created.name))
    supervisor.suspend()
    assert pods.delete(created.name)
    status = pods.get(created.name)
    assert status is not None
    assert status.deleting
    long_ago = time.time() - 60
    os.utime(root / "pods" / created.name / "deleting", (long_ago, long_ago))
    gone(pods, created.name)
    assert not psutil.pid_exists(supervisor.pid) or supervisor.status() == psutil.STATUS_ZOMBIE


def test_a_mark_for_an_earlier_pod_of_the_name_means_nothing_to_this_one(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("sleep 600"))
    folder = Folder(str(root / "pods" / created.name))
    folder.mark(folder.deleting, "an earlier one")
    folder.mark(folder.acknowledged, "an earlier one")
    status = pods.get(created.name)
    assert status is not None
    assert (status.deleting, status.acknowledged, status.uid) == (False, False, created.uid)


def test_what_a_creator_that_died_had_prepared_is_swept_up(pods: LocalPods, root: Path) -> None:
    (root / "pods").mkdir(parents=True)
    old, new = (root / "pods" / f"{PREPARED_PREFIX}{age}" for age in ("old", "new"))
    for path in (old, new):
        path.mkdir()
        (path / "lock").touch()
    long_ago = time.time() - 3600
    os.utime(old, (long_ago, long_ago))
    assert pods.list() == []
    assert (old.exists(), new.exists()) == (False, True)
