"""Mutants of the scripts: the table in lua_rules.toml, each with the test files that hold its rule.

In the flow: ``rules`` gives them to `running`. Which lines of Lua a test executes is not known, so the table names
files.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .covering import Case

SCRIPTS: Final = "scheduler/lua"
TABLE: Final = Path(__file__).with_name("lua_rules.toml")
_FILE_SECONDS: Final = 1.0
"""Taken for what a test file takes, so that all of them are within the budget."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, and how it is broken."""

    id: str
    breaks: str
    """A promise (P…) or fault (F…) of docs/guarantees.md, or a pitfall (D…)."""
    file: str
    anchor: str
    replacement: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"lua: {self.id}"

    def applied(self, source: bytes) -> bytes:
        """The file with the change.

        Raises:
            LookupError: If the anchor is not there exactly once.
        """
        if source.count(self.anchor.encode()) != 1:
            raise LookupError(f"{self.id}: its anchor is not in {self.file} exactly once")
        return source.replace(self.anchor.encode(), self.replacement.encode())

    def cases(self, _: Sequence[Case]) -> list[Case]:
        """The files that hold the rule, each as one case, in their order."""
        return [Case(each, _FILE_SECONDS + i / 1000, {}) for i, each in enumerate(self.tests)]


def rules() -> list[Rule]:
    """The whole table."""
    given: list[dict[str, Any]] = tomllib.loads(TABLE.read_text())["rule"]
    return [
        Rule(file=f"{SCRIPTS}/{each.pop('file')}", tests=tuple(f"tests/{name}" for name in each.pop("tests")), **each)
        for each in given
    ]
