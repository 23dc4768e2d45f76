"""The node's components as processes of this machine, one ``{component}.pid`` and ``{component}.log`` each.

They are sessions of their own, so they outlive the program that started them, and whoever has the folder can stop them:
the cluster's tests do, by the same files.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

STOP_SECONDS = 10.0
STEP_SECONDS = 0.25
TELL_SECONDS = 20.0
_BEGAN = time.monotonic()


class ClusterError(Exception):
    """The cluster cannot be brought up: what is missing, or what did not start, and where its log is."""


def say(text: str) -> None:
    """Tell on standard error what is being done, and how many seconds after the beginning."""
    print(f"cluster: {time.monotonic() - _BEGAN:4.0f} s  {text}", file=sys.stderr, flush=True)


def start(folder: Path, component: str, command: Sequence[str | Path]) -> None:
    """Start a component; it goes on when this program ends.

    Its whole path stands in the list of processes: whoever restarts it need not know where it was found.
    """
    program = shutil.which(command[0])
    if program is None:
        raise ClusterError(f"{command[0]} is not installed")
    with open(folder / f"{component}.log", "wb") as log:
        started = subprocess.Popen(
            [program, *map(str, command[1:])], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    (folder / f"{component}.pid").write_text(f"{started.pid}\n")
    started.returncode = 0  # it outlives this process: Python is not to complain


def stop(folder: Path, component: str) -> None:
    """End a component, by force if it does not; nothing is done if it does not run."""
    try:
        pid = int((folder / f"{component}.pid").read_text())
    except (FileNotFoundError, ValueError):
        return
    with contextlib.suppress(ProcessLookupError):
        if not _is(pid, component):
            return
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while _is(pid, component) and time.monotonic() < deadline:
            time.sleep(STEP_SECONDS)
        if _is(pid, component):
            os.kill(pid, signal.SIGKILL)


def _is(pid: int, component: str) -> bool:
    """Whether the process runs that component: the number may have gone to another program since."""
    try:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        while not (command := Path(f"/proc/{pid}/cmdline").read_bytes()):
            # It has ended and nobody has waited for it, or the kernel is about to give it its arguments.
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        return component.encode() in command.split(b"\0")[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(is_so: Callable[[], bool], timeout_seconds: float, what: str, folder: Path) -> None:
    """Wait until something is so.

    Raises:
        ClusterError: It is not so after that time; the message names the folder of the logs.
    """
    deadline = time.monotonic() + timeout_seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise ClusterError(f"{what} did not come up in {timeout_seconds:.0f} s: see the logs in {folder}")
        time.sleep(STEP_SECONDS)


def succeeds(*command: str | Path) -> bool:
    """Whether a command runs and ends with 0; what it says is dropped."""
    try:
        done = subprocess.run([str(word) for word in command], check=False, capture_output=True, timeout=60)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def run(
    *command: str | Path,
    log: Path,
    folder: Path | None = None,
    settings: dict[str, str] | None = None,
    progress: Callable[[], str] | None = None,
) -> None:
    """Run a command to its end, with its output in a file.

    Args:
        command: Its words.
        log: The file, which is written anew.
        folder: Where it runs.
        settings: Environment variables beside this program's own.
        progress: How far it is, which is told every `TELL_SECONDS`.

    Raises:
        ClusterError: It failed; the message has the end of what it said.
    """
    words = [str(word) for word in command]
    environment = {**os.environ, **(settings or {})}
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        open(log, "wb") as output,
        subprocess.Popen(words, stdout=output, stderr=output, cwd=folder, env=environment) as ran,
    ):
        try:
            while not _is_over(ran):
                if progress is not None:
                    say(progress())
        except BaseException:
            ran.kill()
            raise
    if ran.returncode != 0:
        said = log.read_text(errors="replace").strip().splitlines()[-8:]
        failed = f"`{' '.join(words)}` failed with {ran.returncode}; the end of {log}:"
        raise ClusterError("\n  ".join([failed, *said]))


def _is_over(ran: "subprocess.Popen[bytes]") -> bool:
    try:
        ran.wait(timeout=TELL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True
