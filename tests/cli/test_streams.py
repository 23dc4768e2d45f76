"""Standard streams that are closed, full or unread, a deleted folder, Ctrl-C at once: one line, and no traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from cli.driving import COMMAND, INSTALLED, Driver

from waiting import wait_until

pytestmark = pytest.mark.slow


def shell(driver: Driver, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell in which $B is the command."""
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=driver.folder,
        env=driver.environment | {"B": str(INSTALLED)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("$B submit - <&-", 2, "'standard input' cannot be read: Bad file descriptor"),
        pytest.param(
            "$B list >&-", 1, "standard output cannot be written: Bad file descriptor", marks=pytest.mark.nightly
        ),
        ("$B status --json >&-", 1, "standard output cannot be written: Bad file descriptor"),
        ("$B status > /dev/full", 1, "standard output cannot be written: No space left on device"),
        pytest.param(
            "$B status --json > /dev/full",
            1,
            "standard output cannot be written: No space left on device",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "$B --help > /dev/full",
            1,
            "standard output cannot be written: No space left on device",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_stream_that_cannot_be_used_is_said_in_one_line(driver: Driver, line: str, code: int, said: str) -> None:
    done = shell(driver, line)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"bandmaster: {said}\n")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("$B show nobody 2>&-", 3),
        ("$B show nobody 2> /dev/full", 3),
        ("set -o pipefail; $B submit - --json <<< true | head -c 0", 141),
    ],
)
def test_where_nobody_can_be_told_nothing_is_said(driver: Driver, line: str, code: int) -> None:
    done = shell(driver, line)
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.nightly
def test_a_deleted_folder_is_named_and_matters_only_where_it_is_needed(driver: Driver) -> None:
    gone = "mkdir gone; cd gone; rmdir ../gone; unset BANDMASTER_PATHS__VAR_DIR;"
    for command in ("status", "up"):
        done = shell(driver, f"{gone} exec $B {command}")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "the current folder was deleted, and 'var' (BANDMASTER_PATHS__VAR_DIR) is relative to it" in done.stderr
    assert shell(driver, f"{gone} BANDMASTER_PATHS__VAR_DIR={driver.folder}/var exec $B list").returncode == 0


def test_nothing_is_imported_before_ctrl_c_is_seen_to() -> None:
    program = (
        "import sys, signal, importlib; before = set(sys.modules); import bandmaster.cli; "
        "print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert set(done.stdout.split()) == {"bandmaster", "bandmaster.cli"}


def test_a_deleted_folder_stops_nothing_that_needs_none(driver: Driver) -> None:
    ended = driver.submit("--wait", "--", "echo", "kept")
    url = f"BANDMASTER_REDIS__URL=unix://{driver.folder}/var/redis/redis.sock"
    gone = f"mkdir gone; cd gone; rmdir ../gone; unset BANDMASTER_PATHS__VAR_DIR; export {url};"
    done = shell(driver, f"{gone} exec $B status")
    assert done.returncode == 0
    assert "runs on" in done.stdout
    assert "the current folder was deleted" in done.stdout
    done = shell(driver, f"{gone} exec $B logs {ended}")
    assert (done.returncode, done.stdout) == (0, "kept\n")
    assert "only what is stored can be shown: the current folder was deleted" in done.stderr


@pytest.mark.parametrize("command", ["status", "up"])
def test_a_variable_that_is_near_one_of_ours_is_warned_of(driver: Driver, command: str) -> None:
    answer = driver.run_fresh(command, BANDMASTER_REDIS_URL="redis://:hunter2@host")
    assert answer.err.count("variable_unknown") == 1
    assert "meant=BANDMASTER_REDIS__URL" in answer.err
    assert "hunter2" not in answer.err
    assert "variable_unknown" not in driver.run_fresh("--help", BANDMASTER_REDIS_URL="redis://host").err


@pytest.mark.parametrize("loaded", ["bandmaster" if sys.platform == "darwin" else "_pydantic_core", "hiredis"])
def test_ctrl_c_while_it_is_imported_ends_it_without_a_word(idle: Driver, tmp_path: Path, loaded: str) -> None:
    with (tmp_path / "err").open("w") as err:
        starting = subprocess.Popen(
            [*COMMAND, "status"],
            cwd=idle.folder,
            env=idle.environment,
            stdout=subprocess.DEVNULL,
            stderr=err,
            # Started from a shell's background job, it would inherit that SIGINT is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        process = psutil.Process(starting.pid)
        wait_until(lambda: any(loaded in each.path for each in process.memory_maps()), what=f"{loaded} imported")
        starting.send_signal(signal.SIGINT)
        assert starting.wait(timeout=30) in (-signal.SIGINT, 130)
    assert (tmp_path / "err").read_text() == ""


def test_python_m_bandmaster_is_the_command(idle: Driver) -> None:
    done = subprocess.run(
        [*COMMAND, "--version"], cwd=idle.folder, env=idle.environment, capture_output=True, check=True
    )
    assert done.stdout == idle.run_fresh("--version").out.encode()


def test_every_public_name_is_found_and_only_when_it_is_asked_for() -> None:
    program = (
        "import sys, bandmaster; assert not any(name.startswith('bandmaster.') for name in sys.modules); "
        "assert all(getattr(bandmaster, name) for name in bandmaster.__all__); "
        "assert set(bandmaster.__all__) <= set(dir(bandmaster)); from bandmaster import *; BandedRedisBroker"
    )
    subprocess.run([sys.executable, "-c", program], env=os.environ, check=True)
