"""Which tests a run left out, said in one line at its end.

`make test` deselects the cases that are marked slow or nightly, `make check` those marked nightly; the line names the
command that runs each of them.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, Protocol

import pytest

COMMANDS: Final = {"cluster": "make test-cluster", "nightly": "make nightly", "slow": "make check"}
"""A marker, and the command that runs what has it; the first marker of a case counts."""
_KEY: Final = "left_out"


class _Node(Protocol):
    """The part of a process of pytest-xdist that is read here."""

    workeroutput: dict[str, dict[str, int]]


class LeftOut:
    """A plugin of pytest: counts what was deselected by its marker."""

    def __init__(self) -> None:
        self._cases: Counter[str] = Counter()

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Pytest calls this with the cases that a run leaves out."""
        for item in items:
            name = next((name for name in COMMANDS if item.get_closest_marker(name)), None)
            if name is not None:
                self._cases[name] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the numbers to the process that writes the summary."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_KEY] = dict(self._cases)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: _Node) -> None:
        """Take the numbers of a process; each process deselects the same cases."""
        self._cases = Counter(getattr(node, "workeroutput", {}).get(_KEY, self._cases))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the line."""
        parts = [f"{self._cases[name]} {name} ({command})" for name, command in COMMANDS.items() if self._cases[name]]
        if parts:
            terminalreporter.write_line(f"left out: {', '.join(parts)}")
