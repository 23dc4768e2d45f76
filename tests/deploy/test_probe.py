"""The probe of the containers, on this machine: what it says of processes that work, wait, hang and are gone."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from bandmaster.configs.sources import variable_of
from bandmaster.scheduler.process.health_file import HealthFile
from waiting import wait_until

pytestmark = pytest.mark.slow

PROBE: Final = Path(__file__).parents[2] / "configs" / "deploy" / "probe.py"
WORKER: Final = ("-m", "dramatiq", "bandmaster.actors", "--processes=1", "--threads=1")
SCHEDULER: Final = ("-m", "bandmaster.scheduler")
Probe = Callable[..., "tuple[int, str]"]


@pytest.fixture
def probe(tmp_path: Path) -> Probe:
    """Run the probe; its exit code and what it said."""

    def run(*arguments: str) -> tuple[int, str]:
        environment = {**os.environ, variable_of("paths", "pulse_dir"): str(tmp_path)}
        command = [sys.executable, "-IS", str(PROBE), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    return run


def test_before_the_first_beat_there_is_no_life(probe: Probe, tmp_path: Path) -> None:
    pulse = HealthFile(tmp_path)
    assert probe("alive") == (1, "no process has started to work yet\n")
    pulse.beat(answered=True)
    assert probe("alive") == (0, "")
    assert probe("ready") == (0, "")


def test_a_process_that_waits_for_the_server_is_alive_but_not_ready(probe: Probe, tmp_path: Path) -> None:
    pulse = HealthFile(tmp_path)
    pulse.beat(answered=True)
    pulse.beat(answered=False)
    assert probe("alive") == (0, "")
    code, said = probe("ready")
    assert code == 1
    assert "waits for the Redis server" in said


def test_a_process_that_stands_still_is_not_alive(probe: Probe, tmp_path: Path) -> None:
    pulse = HealthFile(tmp_path)
    pulse.beat(answered=True)
    _make_older(tmp_path, seconds=100)
    code, said = probe("alive", "90")
    assert code == 1
    assert re.search(r"has made no progress for 1\d\d", said)
    assert probe("alive", "200") == (0, "")


def test_the_pulse_of_a_process_that_is_gone_says_nothing(probe: Probe, tmp_path: Path) -> None:
    beat = "import sys; from pathlib import Path; from bandmaster.scheduler.process.health_file import HealthFile; "
    beat += "HealthFile(Path(sys.argv[1])).beat(answered=True)"
    subprocess.run([sys.executable, "-c", beat, str(tmp_path)], check=True)
    assert len(list(tmp_path.glob("*.pulse"))) == 1
    _make_older(tmp_path, seconds=100)
    assert probe("alive") == (1, "no process has started to work yet\n")
    HealthFile(tmp_path).beat(answered=True)


def _make_older(folder: Path, *, seconds: float) -> None:
    then = time.time() - seconds
    for path in folder.glob("*.pulse"):
        os.utime(path, (then, then))


@pytest.mark.parametrize("command", [WORKER, SCHEDULER], ids=["worker", "scheduler"])
def test_a_process_that_works_has_a_pulse_and_one_that_is_stopped_loses_it(
    probe: Probe, tmp_path: Path, redis_url: str, command: tuple[str, ...]
) -> None:
    settings = {variable_of("redis", "url"): redis_url, variable_of("paths", "var_dir"): str(tmp_path / "var")}
    environment = {**os.environ, **settings, variable_of("paths", "pulse_dir"): str(tmp_path)}
    with subprocess.Popen([sys.executable, *command], env=environment) as process:
        try:
            wait_until(lambda: probe("ready")[0] == 0, what="readiness")
            (path,) = tmp_path.glob("*.pulse")
            beaten = path.stat().st_mtime
            wait_until(lambda: path.stat().st_mtime > beaten, what="the next beat")
            os.kill(int(path.stem), signal.SIGSTOP)
            wait_until(lambda: probe("alive", "2")[0] == 1, what="the end of the pulse")
            os.kill(int(path.stem), signal.SIGCONT)
            wait_until(lambda: probe("alive", "30")[0] == 0, what="the pulse again")
        finally:
            process.terminate()


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """Listen, and give everyone the same answer; the port."""
    listeners: list[socket.socket] = []

    def listen(answer: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=serve, args=(listener, answer), daemon=True).start()
        return str(listener.getsockname()[1])

    def serve(listener: socket.socket, answer: bytes) -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            with connection:
                connection.recv(128)
                connection.sendall(answer)

    yield listen
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize(
    ("answer", "alive", "ready"),
    [
        (b"+PONG\r\n", 0, 0),
        (b"-NOAUTH Authentication required.\r\n", 0, 0),
        (b"-LOADING the dataset\r\n", 0, 1),
        (b"", 1, 1),
    ],
)
def test_any_answer_of_the_server_is_life_and_loading_is_not_readiness(
    probe: Probe, answering: Callable[[bytes], str], answer: bytes, alive: int, ready: int
) -> None:
    port = answering(answer)
    assert probe("server-alive", port)[0] == alive
    assert probe("server-ready", port)[0] == ready


def test_a_server_that_is_not_there_is_not_alive(probe: Probe) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    code, said = probe("server-alive", port)
    assert code == 1
    assert "does not answer" in said


def test_a_probe_with_wrong_arguments_says_how_it_is_used(probe: Probe) -> None:
    assert probe("well")[0] == 2
