"""Scripts that take a group of arguments any number of times step through them by the group's length, in its order."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bandmaster.scheduler.engine.settlements import Release, Retry
from bandmaster.scheduler.model.states import State

from .lua_files import Failure, LuaFile, LuaFiles


@dataclass(frozen=True, slots=True)
class Group:
    """Where a script says how many arguments a group has, and which."""

    length: str
    """Finds the number."""
    names: str
    """Finds the names, in their order."""
    lines: tuple[str, ...]
    """What stands in the body as it is here, and steps through them."""
    include: str | None = None
    """The include that has length and names; None: the script itself."""
    first: tuple[str, ...] = ()
    """Arguments that each group has before those names."""


_ONE_OF_GIVEN: Final = "for i = 1, #given, each do"


def _parked(*lines: str, first: tuple[str, ...] = ()) -> Group:
    """Those of park, which stand in an include."""
    length = r"^local parking = {ARGUMENTS_EACH = (\d+)}"
    return Group(length, r"^ +function parking.park\((.*)\)$", (*lines, _ONE_OF_GIVEN), "parking", first)


def _unpacked(length: str, given: str) -> Group:
    """Those that a loop unpacks."""
    names = rf"^ +local (.*) = unpack\({given}, i, i \+ {length} - 1\)$"
    return Group(rf"^local {length} = (\d+)$", names, (f"for i = 1, #{given}, {length} do",))


def _of_function(name: str, given: str) -> Group:
    """Those that a function of the script takes."""
    names = rf"^local function {name}\((.*)\)$"
    return Group(r"^local ARGUMENTS_EACH = (\d+)$", names, (f"for i = 1, #{given}, ARGUMENTS_EACH do",))


GROUPS: Final[Mapping[str, Group]] = {
    "declare": _unpacked("DECLARED_ARGUMENTS", "declared"),
    "declare_rates": _unpacked("RATE_ARGUMENTS", "declared"),
    "exchange": _of_function("settle", "settlements"),
    "park": _parked("each = {...}, {}, parking.ARGUMENTS_EACH"),
    "plan": _parked(
        "each = schedules.state(name), {...}, {'OK'}, parking.ARGUMENTS_EACH + 1",
        first=("instant",),
    ),
    "renew": _unpacked("GRANT_ARGUMENTS", "grants"),
    "restore": _of_function("restore", "given"),
}


def failures(files: LuaFiles) -> Iterator[Failure]:
    """Where header, length, names and steps are not those of one group."""
    for name, group in GROUPS.items():
        script = files.scripts[name]
        for line in group.lines:
            if line not in script.body:
                yield script.failure(f"step through the groups of arguments by this line: {line}")
        yield from _arguments(script, group, files.includes[group.include] if group.include else script)
    settled = _length(files.scripts["exchange"], GROUPS["exchange"])
    for sent in (Release("x", 1, State.FAILED), Retry("x", 1, "retry")):
        if settled != len(sent.arguments):
            told = f"{type(sent).__name__} of engine/settlements.py sends {len(sent.arguments)}"
            yield files.scripts["exchange"].failure(f"take as many arguments as a settlement has: {told}")


def _arguments(script: LuaFile, group: Group, where: LuaFile) -> Iterator[Failure]:
    found, length = re.findall(group.names, where.text, re.MULTILINE), _length(where, group)
    if len(found) != 1 or length is None:
        yield where.failure(f"say once how many arguments a group has, and name them: {group.length}, {group.names}")
        return
    own = tuple(found[0].split(", "))
    names = group.first + own
    if length != len(own):
        yield where.failure(f"a group has {len(own)} arguments, and not {length}", where.line_of("ARGUMENTS"))
    if script.listed[-len(names) :] != names:
        yield script.failure(
            f"let the header end its arguments with the group ({', '.join(names)})", script.line_of("-- ARGV:")
        )
    if script.parameters != (*script.listed[: -len(names)], "..."):
        before = "".join(f"{each}, " for each in script.listed[: -len(names)])
        yield script.failure(f"take what stands before the groups by name: function({before}...)")


def _length(where: LuaFile, group: Group) -> int | None:
    found = re.findall(group.length, where.text, re.MULTILINE)
    return int(found[0]) if len(found) == 1 else None
