"""Driving the real command in real subprocesses, in a folder of their own with its own embedded server."""

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import redis

from bandmaster.configs.areas import PathSettings
from bandmaster.configs.settings import Settings
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.connection import connect
from waiting import wait_until

COMMAND = [sys.executable, "-m", "bandmaster"]
INSTALLED = Path(sys.executable).with_name("bandmaster")
FORKING = Path(__file__).with_name("commands.py")
ESCAPE = "\x1b"
_LEFT_OUT = ("BANDMASTER_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_", "HONCHO_")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which has to be one JSON document and nothing else."""
        return json.loads(self.out)


class Forking:
    """The process that forks each command of this test process, of whatever folder."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, **command: object) -> int:
        """Run a command to its end; its exit code."""
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        asked.write(f"{json.dumps(command)}\n")
        asked.flush()
        return int(answered.readline())

    def close(self) -> None:
        """End it."""
        with self._process:
            pass


@cache
def forking() -> Forking:
    """Start the process that forks commands; it ends with this one."""
    started = Forking()
    atexit.register(started.close)
    return started


class Driver:
    """Runs commands in one folder, whose data are under `var`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = Settings(paths=PathSettings(var_dir=folder / "var"))
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)} | {
            "BANDMASTER_PATHS__VAR_DIR": str(folder / "var")
        }

    def run(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Answer:
        """Run one command to its end, in a process forked from one that has imported everything."""
        files = [self.folder / name for name in ("stdin", "stdout", "stderr")]
        files[0].write_bytes(stdin)
        code = self.run_with([str(file) for file in files], *arguments, **environment)
        return _checked(code, files[1].read_bytes(), files[2].read_bytes())

    def run_with(self, files: list[str], *arguments: str, **environment: str) -> int:
        """The same with these files for the three standard streams; its exit code."""
        return forking().run(
            arguments=arguments, environment=self.environment | environment, folder=str(self.folder), files=files
        )

    def run_fresh(self, *arguments: str, **environment: str) -> Answer:
        """Run the installed command `bandmaster` to its end, in an interpreter of its own."""
        done = subprocess.run(
            [INSTALLED, *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return _checked(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: str) -> Any:
        """What a command that has to succeed says with ``--json``."""
        answer = self.run(*arguments, "--json")
        assert answer.code == 0, answer
        return answer.json

    def submit(self, *arguments: str) -> str:
        """Submit one execution; its id. Options come before a ``--``."""
        answer = self.run("submit", "--json", *arguments)
        assert answer.code == 0, answer
        return answer.json["executions"][0]["execution_id"]

    def script(self, name: str, text: str) -> str:
        """Write a script into the folder; its name."""
        (self.folder / name).write_text(text)
        return name

    def state(self, execution_id: str) -> str:
        """An execution's state, as `show` tells it."""
        return self.json("show", execution_id)["state"]

    def wait_for(self, execution_id: str, state: str) -> None:
        """Wait until the queue itself, which is cheaper to ask than the command, tells this state."""
        with self.connect() as client:
            views = ExecutionQueueService(client).views
            wait_until(lambda: views.meta(execution_id).get("state") == state, what=f"{execution_id} {state}")

    def connect(self) -> redis.Redis:
        """A client of the folder's server."""
        return connect(self.settings, wait_seconds=10)


def _checked(code: int, out: bytes, err: bytes) -> Answer:
    answer = Answer(code, out.decode(), err.decode())
    assert "Traceback" not in answer.err, answer.err
    assert ESCAPE not in answer.out + answer.err
    return answer


class Up:
    """A process that runs the whole stack: `bandmaster up`, or honcho."""

    def __init__(self, driver: Driver, command: list[str], **environment: str) -> None:
        self.driver = driver
        self._out = driver.folder / "up.out"
        self._err = driver.folder / "up.err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                command, cwd=driver.folder, env=driver.environment | environment, stdout=out, stderr=err
            )

    @property
    def out(self) -> str:
        """Its standard output so far."""
        return self._out.read_text()

    @property
    def err(self) -> str:
        """Its standard error so far."""
        return self._err.read_text()

    def wait_until_ready(self) -> None:
        """Wait for the JSON line that says so."""

        def is_ready() -> bool:
            assert self.process.poll() is None, self.err
            return '"ready"' in self.out

        wait_until(is_ready, what="ready")

    def family(self) -> list[psutil.Process]:
        """The processes under it."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, how: signal.Signals, family: list[psutil.Process]) -> int:
        """Send it a signal, wait until it and its whole family are gone; its exit code."""
        self.process.send_signal(how)
        code = self.process.wait(timeout=40)
        _, left = psutil.wait_procs(family, timeout=30)
        assert left == [], self.err
        return code

    def clean_up(self) -> None:
        """Kill what a failed test has left running; its log is shown with a failure."""
        sys.stdout.write(self.err)
        if self.process.poll() is None:
            family = self.family()
            self.process.kill()
            self.process.wait(timeout=30)
            _, left = psutil.wait_procs(family, timeout=10)
            for process in left:
                process.kill()


@contextmanager
def driving() -> Generator[Driver]:
    """A folder whose path is short enough for a socket, as pytest's is not; its pods are ended with it."""
    with tempfile.TemporaryDirectory(prefix="bm-") as name:
        driver = Driver(Path(name))
        try:
            yield driver
        finally:
            pods = LocalPods(driver.folder / "var")
            for pod in pods.list():
                pods.delete(pod.name)
            wait_until(lambda: not pods.list(), what="the end of all pods")


@contextmanager
def running(driver: Driver, *options: str) -> Generator[Up]:
    """`bandmaster up`, ready."""
    up = Up(driver, [*COMMAND, "up", "--json", "--workers", "1", *options])
    try:
        up.wait_until_ready()
        yield up
    finally:
        up.clean_up()
