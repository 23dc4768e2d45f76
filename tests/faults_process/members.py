"""The processes of an installation, each in its own group, so that a signal meets all of it, as the kernel's would.

A member is a real `dramatiq` or scheduler process on the test's server, with short leases through its settings.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import psutil
from ended_leases import LONG_LEASE_MS
from probing import FOLDER, MODULE, probe_environment

from bandmaster.configs.children import Replaced, child_environment
from waiting import GENEROUS_SECONDS, wait_until

SHORT_LEASE_MS: Final = 1_500
"""Of a worker that has to sleep past its own."""
POD_LEASE_MS: Final = 6_000
"""A window of watching is a twelfth of it."""
TICK_SECONDS: Final = 1.0
LEADER_TTL_MS: Final = 1_500
WORKER_READY: Final = "Worker process is ready for action"
SCHEDULER_READY: Final = "scheduler_started"

LANE: Final = "executions"
"""Of `bandmaster.actors`."""

IMPATIENT: Final = {"dramatiq_worker_timeout": "200"}
"""How long an idle consumer of a plain queue waits before it looks again, in ms; Dramatiq's own default is a second."""

SHORT: Final[Replaced] = {
    ("leases", "lease_ttl_ms"): str(LONG_LEASE_MS),
    ("leases", "pod_lease_ttl_ms"): str(POD_LEASE_MS),
    ("scheduler", "interval_seconds"): str(TICK_SECONDS),
    ("scheduler", "leader_ttl_ms"): str(LEADER_TTL_MS),
}


@dataclass(slots=True)
class Member:
    """One process with its children."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path
    threads: int = 0
    """Of a worker."""

    def says(self, text: str) -> bool:
        """Whether its log has a text."""
        return text in self.log.read_text(encoding="utf-8", errors="replace")

    def tail(self, lines: int = 40) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def wait_until_it_says(self, text: str) -> None:
        """Wait for a line of its log, unless it ends before."""

        def said() -> bool:
            assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}:\n{self.tail()}"
            return self.says(text)

        wait_until(said, what=f"{self.name} saying {text!r}")

    def signal(self, number: signal.Signals) -> None:
        """To the whole group."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """As a lost node does: nothing of it gets to do anything more."""
        self.signal(signal.SIGKILL)
        self.process.wait(timeout=GENEROUS_SECONDS)

    def stop(self) -> None:
        """It sleeps until `go_on`."""
        self.signal(signal.SIGSTOP)
        main = psutil.Process(self.process.pid)
        for process in (main, *main.children(recursive=True)):
            if os.getsid(process.pid) == self.process.pid:  # pods have sessions of their own
                wait_until(partial(_is_stopped, process), what=f"{self.name} asleep")

    def go_on(self) -> None:
        """It goes on where it was."""
        self.signal(signal.SIGCONT)

    def terminate(self) -> int:
        """As a process manager does, to the main process only; returns the exit code."""
        self.process.terminate()
        return self.process.wait(timeout=GENEROUS_SECONDS)

    def end(self) -> None:
        """Whatever state it is in."""
        if self.process.poll() is None:
            self.kill()


def _is_stopped(process: psutil.Process) -> bool:
    return process.status() == psutil.STATUS_STOPPED


class Members:
    """Starts members on one server and one folder."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._all: list[Member] = []

    def worker(
        self,
        *,
        module: str = "bandmaster.actors",
        url: str | None = None,
        threads: int = 4,
        settings: Replaced | None = None,
        environment: Mapping[str, str] | None = None,
        ready: str | None = WORKER_READY,
        lane: str = LANE,
    ) -> Member:
        """A worker process; None for `ready` does not wait until it is. `lane` is one of its module's."""
        command = ["dramatiq", module, MODULE, "--path", str(FOLDER), "--processes", "1", "--threads", str(threads)]
        probed = {**probe_environment(self._url, lane), **(environment or {})}
        member = self._start("worker", command, ready, url, settings, probed)
        member.threads = threads
        return member

    def scheduler(
        self, *, url: str | None = None, settings: Replaced | None = None, ready: str | None = SCHEDULER_READY
    ) -> Member:
        """A scheduler process that has begun; None for `ready` does not wait until it has."""
        return self._start("scheduler", ["bandmaster.scheduler"], ready, url, settings, None)

    def other(self, module: str, *, ready: str | None, settings: Replaced, environment: Mapping[str, str]) -> Member:
        """A process of a module of the tests."""
        return self._start(module, [module], ready, None, settings, environment)

    def _start(
        self,
        kind: str,
        command: list[str],
        ready: str | None,
        url: str | None,
        settings: Replaced | None,
        environment: Mapping[str, str] | None,
    ) -> Member:
        name = f"{kind}-{len(self._all)}"
        log = self._folder / f"{name}.log"
        own: Replaced = {("redis", "url"): url or self._url, ("paths", "var_dir"): str(self._folder)}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**child_environment({**SHORT, **own, **(settings or {})}), **IMPATIENT, **(environment or {})},
                start_new_session=True,
            )
        member = Member(name, process, log)
        self._all.append(member)
        if ready is not None:
            member.wait_until_it_says(ready)
        return member

    @property
    def threads(self) -> int:
        """Of all workers that live."""
        return sum(member.threads for member in self._all if member.process.poll() is None)

    def end_all(self) -> str:
        """Kill what is left of them; returns what they said last, for a test that failed."""
        for member in self._all:
            member.end()
        return "\n".join(f"--- {member.name}\n{member.tail()}" for member in self._all)
