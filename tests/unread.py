"""Which test files a run does not even read: those with a marker for all their cases that ``-m`` excludes.

Pytest would deselect each of these cases after it had imported them. So `make test` collects in less time, and needs no
package that only slow tests import. A run that asks for a file reads it, and a missing package is an error there.
"""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import pytest

_TERM: Final = re.compile(r"(not )?(\w+)")
_MARKER: Final = re.compile(r"pytest\.mark\.(\w+)")


class Unread:
    """A plugin of pytest."""

    def __init__(self, expression: str, tests: Path, named: frozenset[Path]) -> None:
        terms = [_TERM.fullmatch(term) for term in expression.split(" and ")]
        # Of any other expression it is not known here which markers it excludes.
        self._excluded = [term[2] for term in terms if term is not None and term[1]] if all(terms) else []
        self._tests = tests
        self._named = named

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Pytest asks whether to leave out a file, or a folder with all that its conftest imports."""
        if not self._excluded or collection_path in self._named:
            return None
        files = [collection_path] if collection_path.is_file() else list(collection_path.rglob("test_*.py"))
        return True if files and all(map(self._reason, files)) else None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many were not read."""
        reasons = [reason for file in self._tests.rglob("test_*.py") if (reason := self._reason(file)) is not None]
        if reasons:
            counts = sorted(Counter(reasons).items())
            terminalreporter.write_line(f"not read: {', '.join(f'{count} {name} files' for name, count in counts)}")

    def _reason(self, file: Path) -> str | None:
        """The excluded marker that all of a file's cases have."""
        return next(filter(markers_of(file).__contains__, self._excluded), None)


@cache
def markers_of(file: Path) -> frozenset[str]:
    """The markers that a file says all its cases have."""
    text = file.read_text(encoding="utf-8") if file.suffix == ".py" else ""
    if "pytestmark" not in text:
        return frozenset()
    return frozenset(
        name
        for statement in ast.parse(text).body
        if isinstance(statement, ast.Assign) and [ast.unparse(target) for target in statement.targets] == ["pytestmark"]
        for name in _MARKER.findall(ast.unparse(statement.value))
    )
