"""`bandmaster up` from start to end: ready, ended in order, nothing left behind, and everything found again."""

import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil
import pytest
from cli.driving import COMMAND, Driver, Up, running

from bandmaster.cli.processes import ASK_ALL_SECONDS, STOP_SECONDS
from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow


def all_answer(driver: Driver) -> None:
    """The API and the ledger do, since it says that it is ready."""
    url = (driver.folder / "var" / "api-url").read_text().strip()
    with urllib.request.urlopen(f"{url}/healthz", timeout=GENEROUS_SECONDS) as answer:
        assert answer.status == 200
    assert driver.json("status")["ledger"] == {"read": True, "written": True}


def test_ctrl_c_ends_every_process_in_order_and_the_next_start_finds_everything(idle: Driver) -> None:
    with running(idle) as up:
        all_answer(idle)
        may_end = idle.folder / "may end"
        runs = idle.submit("--", "sh", "-c", f"until [ -e '{may_end}' ]; do sleep 0.1; done; echo survived")
        idle.wait_for(runs, "POD")
        idle.json("pause")
        waits = idle.submit("--", "true")
        family = up.family()
        assert len(family) >= 6  # three processes and those that watch over them, and the worker's own
        assert up.end(signal.SIGINT, family) == 130
        assert f"{runs}" in up.err  # it was logged
        ended = [line.split("|")[1].split()[0] for line in up.err.splitlines() if " stopped (rc=0)" in line]
        assert sorted(ended) == ["api", "ledger", "redis", "scheduler", "worker"]
        assert ended[-1] == "redis"
        assert "executions that still run: 1" in up.err
        assert up.out.splitlines()[-1] == '{"event": "ended", "exit_code": 130, "died": {}}'
    with running(idle):
        all_answer(idle)
        assert idle.json("show", waits)["explanation"]["reasons"][0] == "everything is paused"
        may_end.touch()
        idle.json("resume")
        idle.wait_for(waits, "COMPLETED")
        idle.wait_for(runs, "COMPLETED")
        assert idle.json("logs", runs)["output"] == "survived\n"


def test_one_process_that_dies_ends_all_with_exit_code_1(idle: Driver) -> None:
    with running(idle) as up:
        family = up.family()
        (scheduler,) = [
            one for one in family if one.cmdline()[-1] == "bandmaster.scheduler" and "-m" in one.cmdline()[:2]
        ]
        scheduler.kill()
        assert up.process.wait(timeout=GENEROUS_SECONDS) == 1
        _, left = psutil.wait_procs(family, timeout=GENEROUS_SECONDS)
        assert left == []
        last = up.err.splitlines()[-1]
        assert last == "bandmaster: ended by itself: scheduler (exit code -9); so everything was ended"


def test_killed_it_leaves_no_process_behind(idle: Driver) -> None:
    with running(idle) as up:
        assert up.end(signal.SIGKILL, up.family()) == -signal.SIGKILL


def test_a_second_one_for_the_same_folder_is_refused(driver: Driver) -> None:
    answer = driver.run("up")
    assert answer.code == 1
    assert answer.err.startswith("bandmaster: a server runs already for this folder (")


def test_wrong_options_procfiles_and_settings_are_refused_before_anything_starts(idle: Driver) -> None:
    assert idle.run("up", "--workers", "0").code == 2
    procfile = idle.folder / "Procfile"
    procfile.write_text("no process here\n")
    named = ("up", "--procfile", "Procfile")
    assert idle.run(*named).err == "bandmaster: Procfile names no process; a line is NAME: COMMAND\n"
    procfile.write_text("one: true\none: false\n")
    assert idle.run(*named).err.startswith("bandmaster: Procfile cannot be used: process names must be unique")
    assert idle.run("up", BANDMASTER_LOGGING__LEVEL="LOUD").code == 2
    assert idle.run(*named, "--workers", "1").code == 2
    assert not (idle.folder / "var").exists()


@pytest.mark.parametrize("before", [(), ("--shard", "low")])
def test_several_servers_are_refused_before_anything_starts(idle: Driver, before: tuple[str, ...]) -> None:
    found = idle.run(*before, "up", BANDMASTER_SHARDS__LOW="redis://second/0")
    assert found.code == 2
    assert "up runs what one server needs, and there are shards (low): start" in found.err
    assert not (idle.folder / "var" / "redis").exists()


def test_a_folder_that_cannot_be_written_is_said_before_anything_starts(idle: Driver) -> None:
    (idle.folder / "file").touch()
    answer = idle.run("up", BANDMASTER_PATHS__VAR_DIR=str(idle.folder / "file" / "var"))
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert f"{idle.folder!s}/file/var', cannot be written (Not a directory)" in answer.err


@pytest.mark.parametrize("part", ["pods", "redis", "redis/appendonlydir"])
def test_a_part_of_it_that_cannot_be_written_is_named(idle: Driver, part: str) -> None:
    path = idle.folder / "var" / part
    path.parent.mkdir(parents=True)
    path.touch()
    answer = idle.run("up")
    path.unlink()
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert f"{str(path)!r}, cannot be written (Not a directory): make it writable" in answer.err


@pytest.mark.parametrize(
    ("option", "said"), [("size=300k", "the disk is full at"), ("ro", "cannot be written (Read-only file system)")]
)
def test_a_disk_that_is_full_or_read_only_is_said_before_anything_starts(idle: Driver, option: str, said: str) -> None:
    (idle.folder / "var").mkdir()
    mounted = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o {option} none var && exec "$@"', "sh"]
    if subprocess.run([*mounted, "true"], cwd=idle.folder, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount anything")
    done = subprocess.run(
        [*mounted, *COMMAND, "up"],
        cwd=idle.folder,
        env=idle.environment,
        capture_output=True,
        text=True,
        timeout=GENEROUS_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


def test_what_lies_in_the_folder_is_neither_imported_nor_run(idle: Driver) -> None:
    for name in ("redis", "dramatiq", "typer"):
        (idle.folder / f"{name}.py").write_text("open('imported', 'w'); raise SystemExit(7)\n")
    (idle.folder / "Procfile").write_text("web: touch foreign; exec sleep 60\n")
    with running(idle) as up:
        assert '"processes": ["redis", "worker", "scheduler", "ledger", "api"]' in up.out
        assert up.end(signal.SIGTERM, up.family()) == 0
    assert not (idle.folder / "imported").exists()
    assert not (idle.folder / "foreign").exists()


@pytest.mark.nightly
def test_a_server_that_dies_at_its_start_ends_all_at_once(idle: Driver) -> None:
    log = idle.folder / "var" / "redis" / "appendonlydir"
    log.mkdir(parents=True)
    (log / "appendonly.aof.manifest").write_text("this is none\n")
    began = time.monotonic()
    answer = idle.run_fresh("up")
    assert answer.code == 1
    assert "ended by itself: redis (exit code 1); so everything was ended" in answer.err.splitlines()[-1]
    assert time.monotonic() - began < STOP_SECONDS


@pytest.mark.nightly
def test_ended_before_the_server_ever_answered_it_kills_the_workers_that_wait_and_nothing_else(idle: Driver) -> None:
    said = idle.folder / "said by up"
    environment = {**idle.environment, "BANDMASTER_REDIS__URL": "redis://127.0.0.1:1/0"}
    with said.open("wb") as err:
        up = subprocess.Popen([*COMMAND, "up"], cwd=idle.folder, env=environment, stdout=subprocess.DEVNULL, stderr=err)
        wait_until(lambda: "embedded_not_needed" in said.read_text(), what="the process in the server's place")
        family = psutil.Process(up.pid).children(recursive=True)
        up.terminate()
        assert up.wait(timeout=GENEROUS_SECONDS) == 0
    _, left = psutil.wait_procs(family, timeout=GENEROUS_SECONDS)
    assert left == []
    assert "SIGKILL" not in said.read_text(), "none waited until its time was over"


@pytest.mark.nightly
def test_a_machine_without_shared_memory_is_said_in_one_line(idle: Driver) -> None:
    without = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o ro none /dev/shm && exec "$@"', "sh"]
    if subprocess.run([*without, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount anything")
    done = subprocess.run(
        [*without, *COMMAND, "up"], cwd=idle.folder, env=idle.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("bandmaster: worker processes need shared memory, and there is none (")
    assert done.stderr.count("\n") == 1


def test_what_a_line_of_a_procfile_runs_in_a_shell_is_ended_with_it(idle: Driver) -> None:
    (idle.folder / "Procfile").write_text("web: touch started; sleep 100\n")
    up = Up(idle, [*COMMAND, "up", "--procfile", "Procfile"])
    try:
        wait_until((idle.folder / "started").exists, what="the line's first command")
        began = time.monotonic()
        assert up.end(signal.SIGINT, up.family()) == 130
        assert time.monotonic() - began < ASK_ALL_SECONDS
    finally:
        up.clean_up()


@pytest.mark.nightly
def test_a_procfile_that_is_named_is_what_runs(idle: Driver) -> None:
    (idle.folder / "Procfile").write_text("one: echo I am $(command -v python); exit 3\ntwo: exec sleep 60\n")
    up = Up(idle, [*COMMAND, "up", "--procfile", "Procfile"])
    try:
        wait_until(lambda: up.process.poll() is not None, what="the end")
    finally:
        up.clean_up()
    assert up.process.returncode == 1
    assert f"I am {Path(sys.executable).parent}/python" in up.err
    assert up.err.splitlines()[-1] == "bandmaster: ended by itself: one (exit code 3); so everything was ended"
