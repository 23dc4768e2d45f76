"""A plugin of pytest: notes which lines each case executes, in all threads of its process.

In the flow: `covering` runs it once for each test file. Only functions are traced, and only those of the folders that
mutants are drawn from; a function whose lines were all seen in this case costs no more than its call.
"""

import json
import os
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

_TREE: Final = os.environ["MUTANTS_TREE"]
_AREAS: Final = tuple(os.environ["MUTANTS_AREAS"].split(":"))
_NOTES: Final = Path(os.environ["MUTANTS_NOTES"])

_lines: dict[CodeType, tuple[str, frozenset[int]]] = {}
"""Each function's file and lines; no lines if it is of no interest."""
_unseen: dict[CodeType, set[int]] = {}
"""The lines that the present case has not executed yet."""
_cases: dict[str, dict[str, Any]] = {}


def _known(code: CodeType) -> tuple[str, frozenset[int]]:
    path = os.path.relpath(os.path.realpath(code.co_filename), _TREE)
    is_wanted = path.startswith(_AREAS) and code.co_name != "<module>"
    lines = frozenset(line for _, _, line in code.co_lines() if line) if is_wanted else frozenset[int]()
    return _lines.setdefault(code, (path, lines))


def _on_call(frame: FrameType, event: str, _: object) -> Any:
    code = frame.f_code
    unseen = _unseen.get(code)
    if unseen is None:
        unseen = _unseen.setdefault(code, set((_lines.get(code) or _known(code))[1]))
    if not unseen:
        return None
    if event == "line":
        unseen.discard(frame.f_lineno)
    return _on_call


def _seen() -> dict[str, list[int]]:
    global _unseen
    # Threads that outlive the case go on with another one.
    ended, _unseen = _unseen, {}
    found: dict[str, set[int]] = {}
    for code, unseen in ended.items():
        path, lines = _lines[code]
        if lines - unseen:
            found.setdefault(path, set()).update(lines - unseen)
    return {path: sorted(lines) for path, lines in found.items()}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    threading.settrace(_on_call)
    sys.settrace(_on_call)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        _cases[item.nodeid]["lines"] = _seen()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    case = _cases.setdefault(report.nodeid, {"seconds": 0.0, "passed": True})
    case["seconds"] += report.duration
    case["passed"] = case["passed"] and report.passed


def pytest_sessionfinish() -> None:
    _NOTES.write_text(json.dumps(_cases))
