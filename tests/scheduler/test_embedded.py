"""The embedded server, started for real: private, found by everybody, alone, and never at the cost of data."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from bandmaster.configs.areas import PathSettings
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.server.connection import SOCKET_PATH_MAX_BYTES, connect, embedded_socket, redis_url
from bandmaster.scheduler.server.embedded import EXIT_ALREADY_RUNNING, EXIT_FAILED
from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "bandmaster.scheduler.server.embedded"]

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def folder() -> Iterator[Path]:
    # Short, since it holds a socket: pytest's own is not.
    with tempfile.TemporaryDirectory(prefix="bm-") as name:
        yield Path(name)


@pytest.fixture
def settings(folder: Path) -> Settings:
    return Settings(paths=PathSettings(var_dir=folder / "var"))


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Starts the program in `folder`; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start_one(**environment: str) -> "subprocess.Popen[str]":
        clean = {name: value for name, value in os.environ.items() if not name.startswith("BANDMASTER_")}
        output = (folder / "output").open("a")
        process = subprocess.Popen(
            COMMAND, cwd=folder, env=clean | environment, stderr=output, stdout=output, text=True
        )
        output.close()
        started.append(process)
        return process

    yield start_one
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=GENEROUS_SECONDS)


def output_of(folder: Path) -> str:
    return (folder / "output").read_text()


def test_it_serves_on_a_private_socket_and_on_no_port(start: Start, settings: Settings, folder: Path) -> None:
    process = start()
    with connect(settings) as client:
        info = client.info("server")
    assert info["process_id"] == process.pid  # it became the server, there is no process between
    socket = embedded_socket(settings)
    assert socket == folder / "var" / "redis" / "redis.sock"
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    assert [
        one for one in psutil.Process(process.pid).net_connections("inet") if one.status == psutil.CONN_LISTEN
    ] == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly_and_keeps_its_data(start: Start, settings: Settings, how: signal.Signals) -> None:
    process = start()
    with connect(settings) as client:
        client.set("kept", "1")
    process.send_signal(how)
    assert process.wait(timeout=GENEROUS_SECONDS) == 0
    assert not embedded_socket(settings).exists()
    start()
    with connect(settings) as client:
        assert client.get("kept") == b"1"


def test_killed_it_leaves_a_stale_socket_that_the_next_one_replaces(start: Start, settings: Settings) -> None:
    process = start()
    with connect(settings) as client:
        client.set("kept", "1")
    process.kill()
    process.wait(timeout=GENEROUS_SECONDS)
    assert embedded_socket(settings).is_socket()
    start()
    with connect(settings) as client:
        assert client.get("kept") == b"1"


def test_a_second_one_is_refused_and_the_first_goes_on(start: Start, settings: Settings, folder: Path) -> None:
    first = start()
    with connect(settings) as client:
        second = start()
        assert second.wait(timeout=GENEROUS_SECONDS) == EXIT_ALREADY_RUNNING
        assert f"already running as process {first.pid} on {folder}/var/redis; use it, or end it first" in output_of(
            folder
        )
        assert client.ping()
        assert first.poll() is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's parent-death signal is Linux's own")
def test_it_is_not_left_behind_when_the_process_that_started_it_is_killed(settings: Settings, folder: Path) -> None:
    program = f"import subprocess; subprocess.run({COMMAND!r})"
    with (folder / "output").open("w") as output:
        parent = subprocess.Popen([sys.executable, "-c", program], cwd=folder, stdout=output, stderr=output)
    try:
        with connect(settings) as client:
            server = psutil.Process(client.info("server")["process_id"])
    finally:
        parent.kill()
        parent.wait(timeout=GENEROUS_SECONDS)
    wait_until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE, what="the server's end")
    assert not embedded_socket(settings).exists()  # it ended by itself, cleanly


def test_a_path_too_long_for_a_socket_gets_a_short_one_that_everybody_finds(start: Start, folder: Path) -> None:
    long = folder / ("x" * 60) / ("y" * 60)
    settings = Settings(paths=PathSettings(var_dir=long))
    socket = embedded_socket(settings)
    try:
        assert len(os.fsencode(long / "redis" / "redis.sock")) > SOCKET_PATH_MAX_BYTES >= len(os.fsencode(socket))
        start(BANDMASTER_PATHS__VAR_DIR=str(long), TMPDIR=str(folder))
        with connect(settings) as client:
            assert client.ping()
        assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
        assert (long / "redis" / "appendonlydir").is_dir()
        assert "embedded_socket_elsewhere" in output_of(folder)
    finally:
        shutil.rmtree(socket.parent, ignore_errors=True)


def test_two_folders_never_share_a_short_socket(folder: Path) -> None:
    one, other = (embedded_socket(Settings(paths=PathSettings(var_dir=folder / ("x" * 120) / name))) for name in "ab")
    assert one != other


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_short_folder_of_somebody_else_is_not_trusted(folder: Path) -> None:
    settings = Settings(paths=PathSettings(var_dir=folder / ("x" * 120)))
    short = embedded_socket(settings).parent
    short.mkdir(mode=0o700)
    try:
        os.chown(short, 12345, 12345)
        with pytest.raises(QueueUnavailable, match="is not this user's own"):
            redis_url(settings)
    finally:
        short.rmdir()


def test_a_folder_with_odd_characters_is_served_and_found(start: Start, folder: Path) -> None:
    odd = folder / 'a b"c\\d#e%41?f'
    start(BANDMASTER_PATHS__VAR_DIR=str(odd))
    with connect(Settings(paths=PathSettings(var_dir=odd))) as client:
        assert client.config_get("dir")["dir"] == f"{odd}/redis"


def test_where_a_server_is_named_it_serves_nothing_and_waits_to_be_ended(start: Start, folder: Path) -> None:
    process = start(BANDMASTER_REDIS__URL="redis://:hunter2@localhost:1/0")
    wait_until(lambda: "embedded_not_needed" in output_of(folder), what="its message")
    assert "hunter2" not in output_of(folder)
    assert not (folder / "var").exists()
    process.terminate()
    assert process.wait(timeout=GENEROUS_SECONDS) == 0


def test_wrong_settings_and_a_folder_it_cannot_write_are_said_in_one_line(start: Start, folder: Path) -> None:
    assert start(BANDMASTER_REDIS__URLL="x").wait(timeout=GENEROUS_SECONDS) == EXIT_FAILED
    (folder / "file").write_text("")
    assert start(BANDMASTER_PATHS__VAR_DIR=str(folder / "file")).wait(timeout=GENEROUS_SECONDS) == EXIT_FAILED
    lines = output_of(folder).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(
        "bandmaster: embedded server: environment variable BANDMASTER_REDIS__URLL: there is no setting"
    )
    assert lines[1].startswith(f"bandmaster: embedded server: cannot write {folder}/file/redis: Not a directory")


def test_it_never_forgets_for_want_of_memory_and_logs_every_write(start: Start, settings: Settings) -> None:
    start()
    with connect(settings) as client:
        for name, value in {"maxmemory-policy": "noeviction", "appendonly": "yes", "appendfsync": "everysec"}.items():
            assert client.config_get(name)[name] == value


def test_a_client_that_may_not_wait_is_told_how_to_start_it(settings: Settings) -> None:
    with pytest.raises(
        QueueUnavailable,
        match=r"`bandmaster up`, or only .* `python -m bandmaster.scheduler.server.embedded`",
    ):
        connect(settings, wait_seconds=0)
    with (
        redis.Redis.from_url(redis_url(settings), retry=Retry(NoBackoff(), 0)) as client,
        pytest.raises(redis.ConnectionError),
    ):
        client.ping()
