"""What was typed before a command, and where the command itself stands among the arguments.

In the flow: the root of the command line keeps here where the queue is looked for; `address` reads it. Nothing is
imported for it, since every start of the command pays for this module. A token is in no repr.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

VALUED: Final = ("--url", "--token", "--token-file", "--shard")
"""The options before a command that have a value."""

COMMAND_MARK: Final = "--"
"""Behind it stands the command that an execution runs."""


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed before the command."""

    url: str | None = None
    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    shard: str | None = None


TYPED: Final[ContextVar[Typed]] = ContextVar("typed", default=Typed())  # noqa: B039 - it is frozen
"""Kept beside the parser, which hands it to no command: what a command is asked for does not depend on it."""


def command_at(arguments: Sequence[str]) -> int:
    """The index of the command's name behind the options that stand before it; the number of arguments if none."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in VALUED else 1
    return min(at, len(arguments))


def take_command(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Split the arguments of a `submit`, or `schedule add`, at the first ``--``: the parser would mix both parts."""
    given = list(arguments)
    at = command_at(given)
    if (given[at : at + 1] == ["submit"] or given[at : at + 2] == ["schedule", "add"]) and COMMAND_MARK in given[at:]:
        mark = given.index(COMMAND_MARK, at)
        return given[:mark], given[mark + 1 :]
    return given, None
