"""Chooses a script's interpreter: the requested one, else its ``#!`` line's, else by the file's suffix, else Python.

Decided once, when the specification is made, so that a script runs in the same way locally and on a cluster. The
first line takes precedence over the suffix, because a ``report.sh`` that begins with ``#!/bin/bash`` needs bash.
"""

from enum import StrEnum
from pathlib import PurePosixPath

from ..scheduler.model.errors import shown
from .errors import PodRejected


class Runtime(StrEnum):
    """The ways to run a script."""

    PYTHON = "python"
    BASH = "bash"
    SH = "sh"
    NODE = "node"
    PROGRAM = "program"  #: the program at the requested absolute path
    ITSELF = "itself"  #: the script is executed directly, the kernel reads its ``#!`` line


_BY_NAME = {
    "python": Runtime.PYTHON,
    "python3": Runtime.PYTHON,
    "bash": Runtime.BASH,
    "sh": Runtime.SH,
    "node": Runtime.NODE,
}
_BY_SUFFIX = {
    ".py": Runtime.PYTHON,
    ".bash": Runtime.BASH,
    ".sh": Runtime.SH,
    ".js": Runtime.NODE,
    ".mjs": Runtime.NODE,
    ".cjs": Runtime.NODE,
}
_FILE_NAMES = {
    Runtime.PYTHON: "script.py",
    Runtime.BASH: "script.bash",
    Runtime.SH: "script.sh",
    Runtime.NODE: "script.js",
    Runtime.PROGRAM: "script",
    Runtime.ITSELF: "script",
}


def choose_runtime(text: str, file_name: str | None, runtime: str | None) -> Runtime:
    """Choose the runtime of a script.

    Args:
        text: The script.
        file_name: Its name, if it has one.
        runtime: The requested runtime, if any: a name, or the absolute path of a program.

    Raises:
        PodRejected: If the requested runtime is unknown; the message names it and the allowed ones.
    """
    if runtime is not None:
        if runtime in _BY_NAME:
            return _BY_NAME[runtime]
        if runtime.startswith("/") and runtime.isprintable():
            return Runtime.PROGRAM
        allowed = ", ".join(_BY_NAME)
        raise PodRejected(
            f"runtime {shown(runtime)} is unknown; allowed are: {allowed}, or an absolute path", field="runtime"
        )
    if text.startswith("#!"):
        return Runtime.ITSELF
    return _BY_SUFFIX.get(PurePosixPath(file_name or "").suffix.lower(), Runtime.PYTHON)


def default_file_name(runtime: Runtime) -> str:
    """Name the file of a script that came without a name."""
    return _FILE_NAMES[runtime]
