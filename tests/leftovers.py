"""The processes that local pods leave on the machine: a test looks for them at its end."""

from pathlib import Path

import psutil


def processes_under(root: Path) -> list[psutil.Process]:
    """All living processes of the pods under a folder: supervisors by their arguments, programs by their HOME."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            named = any(f"{root}/pods/" in argument for argument in process.cmdline())
            housed = process.environ().get("HOME", "").startswith(f"{root}/pods/")
            if (named or housed) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
