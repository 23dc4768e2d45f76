"""Runs a program in a sandbox of bubblewrap (``bwrap``): in namespaces of its own, made without root.

In the flow: ``limits.py`` tests the sandbox once when a worker starts; ``launching.py`` puts its command in front of
each program's command. A program sees the system's folders and its /items.json, read-only, and /work and /tmp (folders
of the pod, so that they count for its disk limit and are removed with it). It sees nothing else of the machine: no
network, no home, no sockets under /run, no other process. So it can neither forge its own outcome nor kill its
supervisor. If the supervisor dies, the kernel kills all processes in the sandbox.
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import BackendNotAvailable

#: The paths of a program's folders inside the sandbox.
WORK_FOLDER, TMP_FOLDER = "/work", "/tmp"
#: The path of the file with its items.
ITEMS_FILE = "/items.json"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store")
_TRIAL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How to start a program in a sandbox.

    Args:
        bwrap: The path of bwrap.
        options: The options for all programs.
    """

    bwrap: str
    options: tuple[str, ...]

    def enter(self, argv: Sequence[str], *, work: str, tmp: str, items: str | None = None) -> list[str]:
        """Compose the command that runs a program in the sandbox, with two of the machine's folders mounted.

        Args:
            argv: The program's own command.
            work: The folder that it sees as /work.
            tmp: The folder that it sees as /tmp.
            items: The file that it sees as /items.json; None: there is none.
        """
        folders = ["--bind", tmp, TMP_FOLDER, "--bind", work, WORK_FOLDER, "--chdir", WORK_FOLDER]
        if items is not None:
            folders += ["--ro-bind", items, ITEMS_FILE]
        return [self.bwrap, *folders, *self.options, "--", *argv]


def sandbox_of(readable: Sequence[str], python: str) -> Sandbox:
    """Compose a sandbox, and test it.

    Args:
        readable: Paths that programs may read, beside the system's.
        python: The interpreter of scripts, which may be installed anywhere.

    Raises:
        BackendNotAvailable: If there is no bwrap, or the kernel does not let it make namespaces.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise BackendNotAvailable("local.sandbox: there is no bwrap: install bubblewrap, or set it to none")
    prefix = str(Path(python).parent.parent)
    binds = [word for path in (*_SYSTEM, prefix, *readable) for word in ("--ro-bind-try", path, path)]
    options = ("--unshare-all", "--die-with-parent", "--cap-drop", "ALL", *binds, "--proc", "/proc", "--dev", "/dev")
    trial = [bwrap, *options, "--", python, "-I", "-S", "-c", ""]
    try:
        done = subprocess.run(trial, capture_output=True, timeout=_TRIAL_SECONDS, check=False, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendNotAvailable(f"local.sandbox: bwrap does not work on this machine: {error}") from error
    if done.returncode:
        raise BackendNotAvailable(f"local.sandbox: bwrap does not work on this machine: {done.stderr.strip()}")
    return Sandbox(bwrap, options)
