"""What the Lua files use of each other: nothing before it is defined, no name twice; and each file is short."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from bandmaster.scheduler.transport.library import INCLUDES

from .lua_files import TOP_LEVEL_LOCAL, Failure, LuaFile, LuaFiles, without_comments

MAX_LINES: Final = 90
MAX_LOCALS: Final = 200
"""What Lua takes in one block."""
_LUA_NAMES: Final = {
    *("redis", "cjson", "cmsgpack", "tonumber", "tostring", "type", "pcall", "string", "math", "ipairs", "pairs"),
    *("next", "select", "table", "unpack"),
}
_LUA_WORDS: Final = {
    *("and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not"),
    *("or", "repeat", "return", "then", "true", "until", "while"),
}
_OF_THE_LIBRARY: Final = ("DIGEST", "given_keys", "given_arguments", "functions", "redis")
"""Variables that are there beside those of the files, where a script is sent alone."""


def failures(files: LuaFiles) -> Iterator[Failure]:
    """What Lua would find only on the path that uses it, perhaps in the middle of a transition."""
    for file in files:
        if (lines := len(file.text.splitlines())) > MAX_LINES:
            yield file.failure(f"split it: {lines} lines are more than {MAX_LINES}", MAX_LINES + 1)
    yield from _includes(files)
    known = {"DIGEST", *_LUA_NAMES}
    for name in INCLUDES:
        if name in files.includes:
            yield from _undefined(files.includes[name], known)
            known.update(files.includes[name].defines)
    for script in files.scripts.values():
        yield from _undefined(script, known)


def _includes(files: LuaFiles) -> Iterator[Failure]:
    transitions = files.includes["transitions"]
    for name in INCLUDES:
        if name not in files.includes:
            yield transitions.failure(f"INCLUDES of scheduler/transport/library.py lists {name}, which is no file here")
    used_later = {word for script in files.scripts.values() for word in _words(script.body)}
    for name in reversed([name for name in INCLUDES if name in files.includes]):
        include = files.includes[name]
        if used_later.isdisjoint(include.defines):
            yield include.failure("nothing that comes after this include uses it: delete it")
        used_later |= _words(include.text)
    for name, include in files.includes.items():
        if name not in INCLUDES:
            yield include.failure("list it in INCLUDES of scheduler/transport/library.py, after what it uses")
        if not include.text.startswith("-- "):
            yield include.failure("begin with `-- ` and what it is")
    counts = Counter(name for include in files.includes.values() for name in include.defines)
    for name, count in counts.items():
        for include in files.includes.values() if count > 1 else ():
            if name in include.defines:
                yield include.failure(f"give another name to {name}, of which there are {count}", include.line_of(name))
    of_a_script = max(len(TOP_LEVEL_LOCAL.findall(script.body)) for script in files.scripts.values())
    together = counts.total() + len(_OF_THE_LIBRARY) + of_a_script
    if together > MAX_LOCALS:
        yield transitions.failure(f"Lua takes no more than {MAX_LOCALS} local variables: put some into blocks")


def _undefined(file: LuaFile, known: set[str]) -> Iterator[Failure]:
    bare = re.sub(r"'[^'\n]*'", "''", without_comments(file.text))
    parameters = re.findall(r"\bfunction[ \w.]*\(([^)]*)\)", bare)
    own = re.findall(r"\b(?:local function|local|for) (\w+(?:, \w+)*)", bare)
    there = known | _LUA_WORDS | {word for found in parameters + own for word in found.split(", ")}
    used = r"(?<![.\w])(%s)(?! *=[^=])(?!\w)"
    for name in sorted(set(re.findall(used % r"[A-Za-z_]\w*", bare)) - there):
        (found, *_) = re.finditer(used % name, bare)
        line = bare.count("\n", 0, found.start()) + 1
        yield file.failure(f"define {name} before it is used, or list its include earlier", line)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", without_comments(text)))
