"""`bandmaster up` from start to end: ready, ended in order, nothing left behind, and everything found again."""

import signal
import sys
from pathlib import Path

import psutil
from cli.driving import COMMAND, Driver, Up, running

from waiting import wait_until


def test_ctrl_c_ends_every_process_in_order_and_the_next_start_finds_everything(idle: Driver) -> None:
    with running(idle) as up:
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
        assert sorted(ended) == ["redis", "scheduler", "worker"]
        assert ended[-1] == "redis"
        assert "executions that still run: 1" in up.err
        assert up.out.splitlines()[-1] == '{"event": "ended", "exit_code": 130, "died": {}}'
    with running(idle):
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
        assert up.process.wait(timeout=40) == 1
        _, left = psutil.wait_procs(family, timeout=30)
        assert left == []
        last = up.err.splitlines()[-1]
        assert last == "bandmaster: ended by itself: scheduler (exit code -9); so everything was ended"


def test_killed_it_leaves_no_process_behind(idle: Driver) -> None:
    with running(idle) as up:
        assert up.end(signal.SIGKILL, up.family()) == -signal.SIGKILL


def test_a_second_one_for_the_same_folder_is_refused(driver: Driver) -> None:
    answer = driver.run_fresh("up")
    assert answer.code == 1
    assert answer.err.startswith("bandmaster: a server runs already for this folder (")


def test_wrong_options_procfiles_and_settings_are_refused_before_anything_starts(idle: Driver) -> None:
    assert idle.run("up", "--workers", "0").code == 2
    procfile = idle.folder / "Procfile"
    procfile.write_text("no process here\n")
    assert idle.run("up").err == "bandmaster: Procfile names no process; a line is NAME: COMMAND\n"
    procfile.write_text("one: true\none: false\n")
    assert idle.run("up").err.startswith("bandmaster: Procfile cannot be used: process names must be unique")
    assert idle.run("up", BANDMASTER_LOGGING__LEVEL="LOUD").code == 2
    assert not (idle.folder / "var" / "redis").exists()


def test_a_procfile_in_the_folder_is_what_runs(idle: Driver) -> None:
    (idle.folder / "Procfile").write_text("one: echo I am $(command -v python); exit 3\ntwo: exec sleep 60\n")
    up = Up(idle, [*COMMAND, "up"])
    try:
        wait_until(lambda: up.process.poll() is not None, what="the end")
    finally:
        up.clean_up()
    assert up.process.returncode == 1
    assert f"I am {Path(sys.executable).parent}/python" in up.err
    assert up.err.splitlines()[-1] == "bandmaster: ended by itself: one (exit code 3); so everything was ended"
