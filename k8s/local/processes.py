"""Finds and kills processes: the descendants of a supervisor, and those left over by a pod without a supervisor.

The system reuses process numbers, so a process counts as the recorded one only if its start time matches too. On Linux
all data is in ``/proc``. Elsewhere ``ps`` is called, which takes tens of milliseconds and shows no environments, so
there a descendant that left its program's process group is not found.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator

from .records import UID_VARIABLE

LINUX = sys.platform == "linux"
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Process:
    """One process at the time it was read."""

    __slots__ = ("group", "identity", "parent", "pid", "rss_bytes", "session", "zombie")

    def __init__(
        self, pid: int, parent: int, group: int, session: int, identity: str, rss_bytes: int, zombie: bool
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.identity = identity
        self.rss_bytes = rss_bytes
        self.zombie = zombie


def boot_identity() -> str:
    """Identify the present boot of the machine, since start times count from it."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def look_at(pid: int) -> Process | None:
    """Read one process; None: it does not exist."""
    if not LINUX:
        return next((process for process in _ask_ps() if process.pid == pid), None)
    return _read_stat(pid, boot_identity())


def everything() -> list[Process]:
    """Read all processes."""
    if not LINUX:
        return _ask_ps()
    boot = boot_identity()
    seen = (_read_stat(int(name), boot) for name in os.listdir("/proc") if name.isdigit())
    return [process for process in seen if process is not None]


def descendants(pid: int) -> Iterator[Process]:
    """Read all descendants of a process, without reading all processes of the machine if possible."""
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        yield from _descendants_among(everything(), pid)
        return
    boot, parents = boot_identity(), [pid]
    while parents:
        for child in _children(parents.pop()):
            process = _read_stat(child, boot)
            if process is not None:
                parents.append(child)
                yield process


def leftovers(program_pid: int, program_identity: str, uid: str) -> list[int]:
    """Find the running processes of a pod whose supervisor is gone.

    Args:
        program_pid: The program, the leader of its own session and process group; 0: it was never recorded.
        program_identity: The program's recorded identity.
        uid: The pod's uid, which all its processes have in their environment unless they cleared it.
    """
    processes = everything()
    leader = next((process for process in processes if process.pid == program_pid), None)
    # The kernel does not reuse a number whose group has members; but the machine may have been rebooted since.
    recycled = leader is not None and leader.identity != program_identity
    same_boot = program_identity.partition("/")[0] == boot_identity()
    found: list[int] = []
    for process in processes:
        if process.zombie or process.pid == os.getpid():
            continue
        of_group = bool(program_pid) and same_boot and not recycled
        if (of_group and program_pid in (process.group, process.session)) or _carries(process.pid, uid):
            found.append(process.pid)
    return found


def kill_leftovers(program_pid: int, program_identity: str, uid: str, *, timeout_seconds: float = 5.0) -> bool:
    """Kill the processes of a pod without a supervisor, and wait for their end. False: some still run."""
    deadline = time.monotonic() + timeout_seconds
    while [pid for pid in leftovers(program_pid, program_identity, uid) if _kill(pid)]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def kill_recorded(pid: int, identity: str) -> None:
    """Kill a recorded process, unless its number belongs to another process by now."""
    process = look_at(pid)
    if process is not None and process.identity == identity:
        _kill(pid)


def kill_descendants() -> bool:
    """Kill all descendants of this process by process group, so that a program that forks fast cannot escape.

    Returns:
        Whether there were any. Processes that changed to another user cannot be killed, and don't count.
    """
    own, killed, out_of_reach = os.getpgrp(), set[int](), set[int]()
    for process in descendants(os.getpid()):
        # Kill each group as soon as its first process is found: reading thousands of others takes long.
        if not process.zombie and process.group not in {own, *killed, *out_of_reach}:
            (killed if signal_group(process.group, signal.SIGKILL) else out_of_reach).add(process.group)
    return bool(killed)


def terminate(leader: int, *, spare_leader: bool) -> None:
    """Send TERM to a process group of descendants, including stopped processes.

    Args:
        leader: The leader of the group.
        spare_leader: Send it to all but the leader itself.
    """
    for number in (signal.SIGTERM, signal.SIGCONT):  # a stopped program could not react to TERM
        if not spare_leader:
            signal_group(leader, number)
            continue
        for process in list(descendants(os.getpid())):
            if process.group == leader and process.pid != leader:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process.pid, number)


def signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal to a process group. False: there is no such group, or no permission."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _descendants_among(processes: list[Process], pid: int) -> list[Process]:
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    found, parents = list[Process](), [pid]
    while parents:
        born = children.get(parents.pop(), [])
        found.extend(born)
        parents.extend(process.pid for process in born)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found.extend(int(child) for child in file.read().split())
    except (FileNotFoundError, ProcessLookupError):
        return found
    return found


def _read_stat(pid: int, boot: str) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The program's name, in parentheses, may contain parentheses and spaces itself.
    fields = text[text.rindex(b")") + 2 :].split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        identity=f"{boot}/{int(fields[19])}",
        rss_bytes=int(fields[21]) * _PAGE_BYTES,
        zombie=fields[0] in (b"Z", b"X"),
    )


def _carries(pid: int, uid: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{UID_VARIABLE}={uid}".encode() in file.read().split(b"\0")
    except OSError:  # gone, or another user's
        return False


def _ask_ps() -> list[Process]:
    found: list[Process] = []
    read, write = os.pipe()
    columns = ["-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "rss=", "-o", "stat=", "-o", "lstart="]
    to_pipe = [(os.POSIX_SPAWN_DUP2, write, 1)]
    ps = os.posix_spawnp("ps", ["ps", "-A", *columns], {"LC_ALL": "C"}, file_actions=to_pipe)
    os.close(write)
    with open(read, encoding="ascii", errors="replace") as listing:
        for line in listing:
            pid, parent, group, rss_kib, state, started = line.split(None, 5)
            found.append(
                Process(
                    pid=int(pid),
                    parent=int(parent),
                    group=int(group),
                    session=int(group),
                    identity=f"/{started.strip()}",
                    rss_bytes=int(rss_kib) * 1024,
                    zombie=state.startswith("Z"),
                )
            )
    os.waitpid(ps, 0)
    return found
