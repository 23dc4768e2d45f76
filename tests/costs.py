"""What each file of tests costs: seconds on the clock, and of processors with all children and servers.

A plugin of pytest that writes one line of JSON a file into the folder that TEST_COSTS_FOLDER names, from which
`python -m tools.costs` makes tables. Processors are counted when a file begins and ends: this process, its living
descendants, and the descendants for which one of them has waited. A descendant whose parent died before it is left out.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest


def processor_seconds() -> float:
    """Of this process and its descendants since they began, those that ended and were waited for included."""
    me = psutil.Process()
    used = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used += times.user + times.system + times.children_user + times.children_system
    return used


class Costs:
    """A plugin of pytest: notes the costs of the files that this process runs.

    Args:
        folder: Where the lines go, a file a process.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"tests-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}-{os.getpid()}.jsonl"
        self._cases: Counter[str] = Counter()
        self._file: str | None = None
        self._began = (0.0, 0.0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Note the costs of a file when its first case begins and its last one has ended."""
        file = _file_of(item)
        if self._file != file:
            self._file, self._began = file, (time.monotonic(), processor_seconds())
            self._cases.clear()
        self._cases[file] += 1
        result = yield
        if nextitem is None or _file_of(nextitem) != file:
            self._write(file)
            self._file = None
        return result

    def _write(self, file: str) -> None:
        began_seconds, began_cpu_seconds = self._began
        line = {
            "file": file,
            "cases": self._cases[file],
            "wall_seconds": round(time.monotonic() - began_seconds, 3),
            "cpu_seconds": round(max(0.0, processor_seconds() - began_cpu_seconds), 3),
        }
        with self._path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")


def _file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
