"""A virtual environment with the built wheel and exactly what it asks for, made without a network.

The distributions that the base or an extra requires, and those that they require in turn, are linked file by file from
the environment of the tests; nothing else can be imported there. Then pip installs the wheel with no index to look in:
it refuses where a requirement is missing.
"""

import contextlib
import os
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Generator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT: Final = "bandmaster"
OFFLINE: Final = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))},
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
"""For pip: nothing that this machine has set."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a process of the environment answered."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Environment:
    """One virtual environment and the folder that its processes run in."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def place(self) -> Path:
        """Where its processes run and keep their data."""
        return self.folder / "place"

    @property
    def variables(self) -> dict[str, str]:
        """All that its processes have: no server on the PATH, nothing of the tests."""
        return {"PATH": str(self.folder / "bin"), "HOME": str(self.place), "LANG": "C.UTF-8"}

    def run(self, *command: str | Path, **variables: str) -> Answer:
        """Run a program of the environment, or with ``-…`` its interpreter, to its end."""
        done = subprocess.run(
            self.command(*command),
            cwd=self.place,
            env=self.variables | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    @contextlib.contextmanager
    def running(self, *command: str, **variables: str) -> Generator[tuple[Path, Callable[[], int]]]:
        """Start a process; the file with all that it prints, and what ends it and has its exit code."""
        log = self.place / "log"
        with log.open("w") as output:
            process = subprocess.Popen(
                self.command(*command),
                cwd=self.place,
                env=self.variables | variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

        def end() -> int:
            process.send_signal(signal.SIGTERM)
            return process.wait()

        try:
            yield log, end
        finally:
            if process.poll() is None:
                end()

    def command(self, first: str | Path, *rest: str | Path) -> list[str]:
        """As `run` takes it, to be started in another way."""
        if str(first).startswith("-"):
            return [str(self.python), str(first), *map(str, rest)]
        return [str(self.folder / "bin" / first), *map(str, rest)]


def make_environment(folder: Path, wheel: Path, extra: str) -> Environment:
    """Make one.

    Args:
        folder: Where; made here.
        wheel: Installed by pip.
        extra: Of the wheel; empty: the base only.
    """
    venv.create(folder, symlinks=True)
    (target,) = folder.glob("lib/python*/site-packages")
    for name in distributions_of(wheel, extra):
        _link(distribution(name), target)
    (folder / "place").mkdir()
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")),
            *("install", "--quiet", "--no-index", "--no-compile", f"{wheel}[{extra}]" if extra else str(wheel)),
        ],
        env=OFFLINE,
        check=True,
    )
    return Environment(folder)


def metadata_of(wheel: Path) -> Metadata:
    """What the wheel says of itself, checked: a field that is not as the standard has it is an error."""
    with ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return Metadata.from_email(archive.read(name))


def distributions_of(wheel: Path, extra: str) -> frozenset[str]:
    """The names of what the wheel asks for, with an extra or without, and of what that asks for in turn."""
    ours = metadata_of(wheel).requires_dist or []
    asked, seen = [(PROJECT, ""), (PROJECT, extra)], set[tuple[str, str]]()
    while asked:
        each = asked.pop()
        if each in seen:
            continue
        seen.add(each)
        name, with_extra = each
        theirs = ours if name == PROJECT else [Requirement(text) for text in distribution(name).requires or ()]
        for needed in theirs:
            if needed.marker is None or needed.marker.evaluate({"extra": with_extra}):
                asked.extend((canonicalize_name(needed.name), further) for further in ("", *needed.extras))
    return frozenset(name for name, _ in seen if name != PROJECT)


def _link(installed: Distribution, target: Path) -> None:
    assert installed.files is not None, f"{installed.name} does not tell its files"
    for file in installed.files:
        # Scripts are beside, and not needed: `python -m` runs the same.
        if file.parts[0] == ".." or "__pycache__" in file.parts:
            continue
        source, link = Path(str(file.locate())), target / file
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source)
        compiled = link.parent / "__pycache__"
        if file.suffix == ".py" and not compiled.is_symlink():
            # What was compiled once is compiled for every environment.
            (source.parent / "__pycache__").mkdir(exist_ok=True)
            compiled.symlink_to(source.parent / "__pycache__")
