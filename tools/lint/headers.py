"""Every script says in its header what it is, what it takes in which order, and which includes it uses."""

import re
from collections.abc import Iterator
from typing import Final

from bandmaster.scheduler.transport.library import INCLUDES, TOKEN_ARGUMENTS

from .groups import GROUPS
from .lua_files import Failure, LuaFile, LuaFiles, without_comments

KEYS_LINE: Final = "-- KEYS: the key of the settings, whose prefix all others have (scheduler/keys.py)"
MARKS: Final = ("-- KEYS:", "-- ARGV:", "-- Returns:")
KINDS: Final = ("once", "once_if_memory", "transition", "led", "view")
LANES_LAST: Final = {"status"}
"""Scripts whose last arguments are lanes, any number of them."""
_NAMED_IN_BODY: Final = re.compile(
    r"\blocal (?:function )?([\w, ]+)|\bfor ([\w, ]+) (?:in|=)|\bfunction(?: \w+)?\(([\w, ]*)"
)


def failures(files: LuaFiles) -> Iterator[Failure]:
    """What is wrong in headers, or is not as they say."""
    for script in files.scripts.values():
        yield from _parts(script)
        if script.kind:
            yield from _kind(script)
            yield from _order(script)
        else:
            yield script.failure(f"register one function by the file's name: transition('{script.name}', function(…)")
        yield from _uses(script, files)
    token = f"function({', '.join(TOKEN_ARGUMENTS)}, ...)"
    transitions = files.includes["transitions"]
    if token not in transitions.text:
        yield transitions.failure(f"let `once` take the request token first: {token}", transitions.line_of("once("))


def _parts(script: LuaFile) -> Iterator[Failure]:
    if not script.text.startswith(f"-- {script.name}: "):
        yield script.failure(f"begin with `-- {script.name}: ` and the purpose")
    if "Atomic" not in script.said and "Read only" not in script.said:
        yield script.failure("say in the header what is `Atomic`, or that it is `Read only`")
    places = [next((n for n, line in enumerate(script.header) if line.startswith(mark)), -1) for mark in MARKS]
    for mark, place in zip(MARKS, places, strict=True):
        if place == -1:
            yield script.failure(f"add the part `{mark}` to the header", len(script.header) or 1)
    if -1 not in places and places != sorted(places):
        yield script.failure(f"put the parts of the header into their order: {', '.join(MARKS)}", min(places) + 1)
    if KEYS_LINE not in script.header:
        yield script.failure(f"say of the keys what all scripts say: {KEYS_LINE}", script.line_of("-- KEYS:"))


def _kind(script: LuaFile) -> Iterator[Failure]:
    kind, line = script.kind, script.line_of(f"{script.kind}('{script.name}', ")
    if kind not in KINDS:
        yield script.failure(f"register it as one of {', '.join(KINDS)}", line)
    if (kind == "view") != ("Read only" in script.said):
        yield script.failure("a `view`, and nothing else, says `Read only` in its header", line)
    if kind.startswith("once") != script.takes_token:
        yield script.failure("a `once`, and nothing else, lists the request token `caller, number` first", line)
    if kind in ("transition", "led") and not re.search(
        r"[Rr]epeating it|A candidate that leads", " ".join(script.header)
    ):
        yield script.failure("say that repeating it does no harm, or register it as `once`", line)


def _order(script: LuaFile) -> Iterator[Failure]:
    if script.name in GROUPS:
        return
    listed, named = script.listed, script.parameters
    if script.name in LANES_LAST:
        if (listed[-1:], named[-1:]) != (("lane",), ("...",)):
            yield script.failure("its last arguments are lanes: `lane` in the header, `...` in the body")
        listed, named = listed[:-1], named[:-1]
    taken = (("epoch",) if script.kind == "led" else ()) + named
    if taken != listed:
        told = f"the header lists {', '.join(listed)}; the body takes {', '.join(taken)}"
        yield script.failure(f"let both name the same in one order: {told}", script.line_of("-- ARGV:"))


def _uses(script: LuaFile, files: LuaFiles) -> Iterator[Failure]:
    text = re.sub(r"'[^']*'", "''", without_comments(script.body))
    own = {each for found in _NAMED_IN_BODY.findall(text) for names in found for each in names.split(", ")}
    words = set(re.findall(r"(?<![.\w:])[A-Za-z_]\w*", text)) - own
    used = [name for name in INCLUDES if name in files.includes and words & {*files.includes[name].defines}]
    _, _, listed = script.said.rpartition("Uses: ")
    if listed.split(", ") != used:
        yield script.failure(
            f"end the header with the includes that it uses: `-- Uses: {', '.join(used)}`", script.line_of("-- Uses:")
        )
