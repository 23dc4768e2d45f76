"""What is said when no server answers: that none runs, that it hangs, that it refuses, that it is somebody else's."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
from cli.driving import COMMAND, Driver

from bandmaster.cli.diagnosis import diagnosis
from bandmaster.scheduler.model.errors import QueueUnavailable

NOBODY = 65_534


@pytest.fixture
def server(idle: Driver) -> Iterator[subprocess.Popen[bytes]]:
    """Only the server, which answers."""
    command = [sys.executable, "-m", "bandmaster.scheduler.server.embedded"]
    process = subprocess.Popen(command, cwd=idle.folder, env=idle.environment, stderr=subprocess.DEVNULL)
    try:
        idle.connect().close()
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(timeout=30)


@contextmanager
def stopped(process: subprocess.Popen[bytes]) -> Generator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def test_where_none_runs_it_says_how_to_start_one(idle: Driver) -> None:
    answer = idle.run("status")
    assert answer.code == 4
    assert "no server runs for this folder" in answer.err
    assert "`bandmaster up`" in answer.err


@pytest.mark.slow
def test_one_that_hangs_is_named(idle: Driver, server: subprocess.Popen[bytes]) -> None:
    socket = f"unix://{idle.folder}/var/redis/redis.sock"
    with stopped(server):
        answer = idle.run("status", BANDMASTER_REDIS__SOCKET_TIMEOUT_SECONDS="0.2")
        assert answer.code == 4
        assert f"the server of this folder runs as process {server.pid} but does not answer" in answer.err
        assert "no server runs" not in answer.err
        answer = idle.run("status", BANDMASTER_REDIS__SOCKET_TIMEOUT_SECONDS="0.2", BANDMASTER_REDIS__URL=socket)
        assert "it hangs, or the network does" in answer.err
        assert "start that server" not in answer.err


@pytest.mark.slow
def test_one_that_lost_its_socket_is_named_and_no_second_one_is_started(
    idle: Driver, server: subprocess.Popen[bytes]
) -> None:
    (idle.folder / "var" / "redis" / "redis.sock").unlink()
    for command in ("status", "up"):
        answer = idle.run(command)
        assert (answer.code, answer.out, answer.err.count("\n")) == (4, "", 1)
        assert f"the server of this folder runs as process {server.pid}, but its socket" in answer.err
        assert f"`kill {server.pid}`" in answer.err


@contextmanager
def as_nobody() -> Generator[None]:
    """Without root's rights over others' folders; who has none needs not give them up."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_one_of_another_user_is_named(idle: Driver) -> None:
    idle.folder.chmod(0o755)
    (idle.folder / "var").chmod(0o755)
    (idle.folder / "var" / "redis").chmod(0o700 if os.geteuid() == 0 else 0)
    with as_nobody():
        said = str(diagnosis(idle.settings, QueueUnavailable("it did not answer")))
    (idle.folder / "var" / "redis").chmod(0o700)
    assert said.startswith("the server of this folder is user ")
    assert "cannot be entered" in said


@pytest.mark.slow
def test_one_whose_disk_is_full_says_so(idle: Driver) -> None:
    var = idle.folder / "var"
    var.mkdir()
    command = shlex.join(COMMAND)
    fill = "from bandmaster.configs.settings import load_settings as s; " + (
        "from bandmaster.scheduler.server.connection import connect; c = connect(s(), wait_seconds=20)\n"
        "try:\n  [c.set(f'k{i}', 'x' * 100_000) for i in range(1000)]\n"
        "except Exception: pass\n"
    )
    script = f"""
        mount -t tmpfs -o size=2m none {var} || exit 77
        {shlex.quote(sys.executable)} -m bandmaster.scheduler.server.embedded > {idle.folder}/log 2>&1 &
        {shlex.quote(sys.executable)} -c {shlex.quote(fill)}
        {command} status
        code=$?
        kill %1
        wait
        exit $code
    """
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", script],
        cwd=idle.folder,
        env=idle.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode in (1, 77):
        pytest.skip("this user may not mount anything")
    assert done.returncode == 4, done.stderr
    assert "its disk is full or cannot be written" in done.stderr
    assert "no server runs" not in done.stderr
