"""The Lua scripts as texts: header, body, kind, and the names that an include gives to what follows it."""

import re

from bandmaster.scheduler.transport.library import read_lua

DEFINED = re.compile(r"^(\w+)\('(\w+)', function\((.*)\)$", re.MULTILINE)
"""How a script is given to the library: its kind, its name and its arguments."""
TOP_LEVEL_LOCAL = re.compile(r"^local (?:function )?([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*)", re.MULTILINE)


def header(name: str) -> list[str]:
    lines = read_lua(f"{name}.lua").splitlines()
    end = next(number for number, line in enumerate(lines) if not line.startswith("--"))
    return lines[:end]


def body(name: str) -> str:
    return "\n".join(read_lua(f"{name}.lua").splitlines()[len(header(name)) :])


def kind_of(name: str) -> tuple[str, tuple[str, ...]]:
    """The kind of a script, and the arguments of its body."""
    ((kind, defined, arguments),) = DEFINED.findall(body(name))
    assert defined == name
    return kind, tuple(arguments.split(", ")) if arguments else ()


def without_comments(text: str) -> str:
    return re.sub(r"--.*", "", text)


def defined_in(include: str) -> set[str]:
    """The names that an include gives to what follows it."""
    names: set[str] = set()
    for found in TOP_LEVEL_LOCAL.findall(read_lua(f"include/{include}.lua")):
        names.update(found.split(", "))
    return names
