"""Watches the local pods for changes without reading all of them all the time.

Every transition touches the root folder, so a watch costs one ``stat`` each 50 ms while nothing changes. After a
change, it reads only the folders that were modified since. Once a second it reads all pods that have not ended, to find
lost ones. A watch stores nothing: if its process dies, the next watch begins with all pods that exist.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ..pods import ChangeKind, PodChange, PodStatus
from .records import Folder
from .settling import observe

_TICK_SECONDS = 0.05
_FULL_LOOK_SECONDS = 1.0
#: File systems have coarse timestamps: a second change within one tick of their clock leaves the timestamp as it is.
_STAMP_DOUBT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _Sight:
    """A folder as it was read. The inode distinguishes two pods of one name, the timestamp shows whether to reread."""

    inode: int
    modified_at: float
    status: PodStatus


def watch(root: str, window_seconds: float) -> Iterator[PodChange]:
    """Report all pods under ``root``, then every change, for so many seconds."""
    ends = time.monotonic() + window_seconds
    known: dict[str, _Sight] = {}
    full_look_at = time.monotonic()
    looked_at = 0.0
    while True:
        now = time.monotonic()
        full = now >= full_look_at
        if full:
            full_look_at = now + _FULL_LOOK_SECONDS
        if full or _in_doubt(os.stat(root).st_mtime, looked_at):
            looked_at = time.time()
            yield from _look(root, known, full=full)
        left = ends - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(_TICK_SECONDS, left))


def _in_doubt(modified_at: float, looked_at: float) -> bool:
    """Whether the root may have changed since it was read; true also if the clock went backwards meanwhile."""
    return modified_at > looked_at - _STAMP_DOUBT_SECONDS or time.time() < looked_at


def _look(root: str, known: dict[str, _Sight], *, full: bool) -> Iterator[PodChange]:
    present: set[str] = set()
    with os.scandir(root) as scan:
        entries = [entry for entry in scan if not entry.name.startswith(".")]
    for entry in entries:
        before = known.get(entry.name)
        sight = _read(entry, before, full=full)
        if sight is None:
            continue
        present.add(entry.name)
        known[entry.name] = sight
        if before is not None and before.status.uid != sight.status.uid:
            yield PodChange(ChangeKind.DELETED, before.status)
        if before is None or before.status != sight.status:
            yield PodChange(ChangeKind.SEEN, sight.status)
    for name in known.keys() - present:
        yield PodChange(ChangeKind.DELETED, known.pop(name).status)


def _read(entry: os.DirEntry[str], before: _Sight | None, *, full: bool) -> _Sight | None:
    try:
        stat = entry.stat()
    except FileNotFoundError:
        return None
    if before is not None and before.inode == stat.st_ino:
        doubtful = time.time() - before.modified_at < 2 * _STAMP_DOUBT_SECONDS
        settled = before.status.phase.ended and not before.status.deleting
        if before.modified_at == stat.st_mtime and not doubtful and (settled or not full):
            return before
    status = observe(Folder(entry.path))
    return None if status is None else _Sight(stat.st_ino, stat.st_mtime, status)
