"""The Lua files as texts: header, body, how a script is given to the library, and the names that a file defines."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from bandmaster.scheduler.transport.library import TOKEN_ARGUMENTS, arguments_of

DEFINED: Final = re.compile(r"^(\w+)\('(\w+)', function\((.*)\)$", re.MULTILINE)
"""How a script is given to the library: its kind, its name and its arguments."""
TOP_LEVEL_LOCAL: Final = re.compile(r"^local (?:function )?([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong in a file, and what to do."""

    path: Path
    line: int
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.advice}"


@dataclass(frozen=True)
class LuaFile:
    """A script, or an include that all scripts share."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        """As the library calls it."""
        return self.path.stem

    @cached_property
    def header(self) -> list[str]:
        """The comment with which it begins."""
        lines = self.text.splitlines()
        return lines[: next((number for number, line in enumerate(lines) if not line.startswith("--")), len(lines))]

    @property
    def said(self) -> str:
        """The header in one line."""
        return " ".join(line.removeprefix("--").strip() for line in self.header)

    @property
    def body(self) -> str:
        """What follows the header."""
        return "\n".join(self.text.splitlines()[len(self.header) :])

    @cached_property
    def kind(self) -> str:
        """As what a script registers itself; '' if it does not, once and by its own name."""
        return self._defined[0]

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The arguments that a script's body names."""
        return tuple(self._defined[1].split(", ")) if self._defined[1] else ()

    @property
    def takes_token(self) -> bool:
        """Whether a script's header lists the request token."""
        return arguments_of(self.text)[:2] == TOKEN_ARGUMENTS

    @property
    def listed(self) -> tuple[str, ...]:
        """The arguments that a script's header lists, without the request token."""
        return arguments_of(self.text)[2 if self.takes_token else 0 :]

    @cached_property
    def defines(self) -> tuple[str, ...]:
        """The names that an include gives to what follows it."""
        return tuple(name for found in TOP_LEVEL_LOCAL.findall(self.text) for name in found.split(", "))

    def line_of(self, text: str) -> int:
        """Where a text stands first; the first line, if nowhere."""
        return self.text.count("\n", 0, max(0, self.text.find(text))) + 1

    def failure(self, advice: str, line: int = 1) -> Failure:
        """One of this file."""
        return Failure(self.path, line, advice)

    @property
    def _defined(self) -> tuple[str, str]:
        found = DEFINED.findall(self.body)
        return (found[0][0], found[0][2]) if len(found) == 1 and found[0][1] == self.name else ("", "")


@dataclass(frozen=True, slots=True)
class LuaFiles:
    """All that the library is made of."""

    scripts: Mapping[str, LuaFile]
    includes: Mapping[str, LuaFile]

    def __iter__(self) -> Iterator[LuaFile]:
        yield from self.includes.values()
        yield from self.scripts.values()


def read_files(folder: Path) -> LuaFiles:
    """Read `scheduler/lua`, or a copy of it."""
    return LuaFiles(_read(folder), _read(folder / "include"))


def without_comments(text: str) -> str:
    """A text in which no comment is left, and every line is where it was."""
    return re.sub(r"--.*", "", text)


def _read(folder: Path) -> dict[str, LuaFile]:
    return {path.stem: LuaFile(path, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.lua"))}
