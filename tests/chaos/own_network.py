"""A network of the run's own, in which packets get lost: this process again, in a network namespace, with nftables.

The namespace is gone with its last process, so nothing of the machine's own network changes and nothing is left of it.
It takes root, `unshare`, `ip` and `nft`. Where one is missing, the run goes on without the loss, and says so.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

LOST_PERCENT: Final = 5
INSIDE: Final = "CHAOS_OWN_NETWORK"
_PROGRAMS: Final = ("unshare", "ip", "nft")
_TABLE: Final = ("inet", "chaos")


def why_not() -> str | None:
    """What is missing; None if packets can be lost here."""
    if os.geteuid() != 0:
        return "it needs root"
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"there is no {' and no '.join(missing)}"
    tried = subprocess.run(["unshare", "--net", "nft", "list", "tables"], capture_output=True, text=True)
    return tried.stderr.strip() or "no namespace can be made" if tried.returncode else None


def run_inside(command: Sequence[str]) -> int | None:
    """Run this program once more in a network of its own, to its end; returns the exit code, None if it is inside."""
    if os.environ.get(INSIDE):
        return None
    script = 'ip link set lo up && exec "$@"'
    inner = [sys.executable, *command]
    return subprocess.run(
        ["unshare", "--net", "sh", "-c", script, "sh", *inner], env={**os.environ, INSIDE: "1"}
    ).returncode


def is_inside() -> bool:
    """Whether packets can be lost."""
    return bool(os.environ.get(INSIDE))


def lose_packets() -> None:
    """So many of a hundred that arrive, from now on."""
    family, table = _TABLE
    rules = (
        f"add table {family} {table}; "
        f"add chain {family} {table} input {{ type filter hook input priority 0; }}; "
        f"add rule {family} {table} input numgen random mod 100 < {LOST_PERCENT} drop"
    )
    subprocess.run(["nft", rules], check=True, capture_output=True)


def lose_no_packets() -> None:
    """All arrive again."""
    subprocess.run(["nft", f"delete table {' '.join(_TABLE)}"], check=True, capture_output=True)
