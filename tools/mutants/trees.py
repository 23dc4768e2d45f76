"""Copies of the working tree, in which tests run: nothing of the checkout is changed.

In the flow: `covering` and `running` work in them.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

ROOT: Final = Path(__file__).resolve().parents[2]
_ALWAYS: Final = ("-q", "--tb=no", "-p", "no:cacheprovider", "-p", "mutants_unshrunk")


@dataclass(slots=True)
class Tree:
    """A copy of what git knows of a working tree, and of what it would take in."""

    folder: Path
    of: Path
    root: Path = field(init=False)
    """The copy itself."""
    _paths: Path = field(init=False)

    def __post_init__(self) -> None:
        self.root, self._paths = self.folder / "tree", self.folder / "paths"
        listed = ("git", "-C", str(self.of), "ls-files", "-coz", "--exclude-standard")
        for name in subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0"):
            if name and os.path.lexists(self.of / name):
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.of / name, self.root / name, follow_symlinks=False)
        # The package alone: the tree's root on the path would hide some folders of tests.
        self._paths.mkdir()
        (self._paths / "bandmaster").symlink_to(self.root / "bandmaster")
        for name in ("tracing.py", "unshrunk.py"):
            (self._paths / f"mutants_{name}").symlink_to(Path(__file__).with_name(name))

    def pytest(self, arguments: Sequence[str], *, within_seconds: float, **variables: str) -> tuple[int | None, str]:
        """Run pytest in the copy.

        Args:
            arguments: Of pytest.
            within_seconds: After this it and its processes are killed.
            variables: Further environment variables.

        Returns:
            Its exit code, None if it did not end by itself; and what it wrote.
        """
        temporary = self.folder / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)  # else it would know the failures of other mutants
        temporary.mkdir()
        run = subprocess.Popen(
            (sys.executable, "-P", "-m", "pytest", *_ALWAYS, f"--basetemp={temporary / 'base'}", *arguments),
            cwd=self.root,
            env={
                **os.environ,
                "PYTHONPATH": str(self._paths),
                "TMPDIR": str(temporary),
                **variables,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            written, _ = run.communicate(timeout=within_seconds)
        except subprocess.TimeoutExpired:
            _kill(run.pid)
            written, _ = run.communicate()
            return None, written
        _kill(run.pid)  # what it left
        return run.returncode, written


def in_copies(of: Path, jobs: int, given: Iterable[Given], work: Callable[[Tree, Given], Made]) -> Iterator[Made]:
    """Do the same with each of some things, so many at once, each time in a copy that nothing else uses meanwhile.

    Yields:
        What came of each, in their order.
    """
    with tempfile.TemporaryDirectory(prefix="bm-") as folder, ThreadPoolExecutor(jobs) as pool:
        free = SimpleQueue[Tree]()
        for i in range(jobs):
            free.put(Tree(Path(folder) / str(i), of))

        def work_on(each: Given) -> Made:
            copy = free.get()
            try:
                return work(copy, each)
            finally:
                free.put(copy)

        yield from pool.map(work_on, given)


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
