"""Assembles the Lua scripts into one function library that the server loads once.

The engine uses ``FCALL`` (Redis 7.0 or newer, or Valkey) and not ``EVALSHA``: an EVAL script builds all its functions
and tables anew in each call, a library only when it is loaded, and replicas and restarted servers have it. The library
and its functions are named after the text's digest, so several releases work on one server side by side.

A script's header is its documentation: purpose, atomicity, ``KEYS``, ``ARGV`` (the names of its arguments in order),
``Returns``. `make lint` compares it with the body (`tools/lint`). Nothing here talks to Redis.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from .. import lua

INCLUDES: Final = (
    "call",
    "apart",
    "keys",
    "code_slots",
    "now",
    "setting_defaults",
    "settings",
    "time",
    "scores",
    "reply",
    "appending",
    "journal",
    "refusing",
    "tombstones",
    "changes",
    "counts",
    "auto",
    "adjusting",
    "defaults",
    "rates",
    "kinds",
    "limits",
    "changed",
    "gates",
    "later",
    "openings",
    "leases",
    "places",
    "flows",
    "candidates",
    "shares",
    "fair",
    "noting",
    "slots",
    "ranking",
    "crowded",
    "reopening",
    "raised",
    "attempts",
    "lanes",
    "deadlines",
    "ageing",
    "unique",
    "due",
    "waiting",
    "keeping",
    "letters",
    "outbox",
    "ending",
    "losses",
    "staleness",
    "room",
    "schedules",
    "overlaps",
    "occurrences",
    "promoting",
    "parking",
    "banding",
    "reaping",
    "repair",
    "payloads",
    "sessions",
    "fence",
    "granting",
    "admitting",
    "yielding",
    "serving",
    "transitions",
)
"""The files that all scripts share, each after the files that it uses."""
TOKEN_ARGUMENTS: Final = ("caller", "number")
"""The request token, first in the ARGV of every transition whose effect must not happen twice."""
_ARGV: Final = re.compile(r"^-- ARGV:(.*)$", re.MULTILINE)
_DIGEST_CHARS: Final = 12
_REGISTERING: Final = """local given_keys, given_arguments, functions = KEYS, ARGV, {}
local redis = {
    call = redis.call,
    register_function = function(given) functions[given.function_name] = given.callback end,
}
"""


@dataclass(frozen=True, slots=True)
class Script:
    """One script of the library, such as a transition."""

    name: str
    function: str
    """The function's name in the server, with the library's digest."""
    arguments: tuple[str, ...]
    """The names of its ARGV, without the request token."""
    takes_token: bool
    needs_memory: bool
    """Whether a server at maxmemory refuses it."""


@dataclass(frozen=True, slots=True)
class Library:
    """The text that the server loads."""

    name: str
    text: str
    scripts: Mapping[str, Script]

    def alone(self, script: Script) -> str:
        """Return one script as a text for ``EVAL``, which works on a server without memory for the library."""
        flags = "" if script.needs_memory else " flags=allow-oom"
        _, rest = self.text.split("\n", 1)
        return f"#!lua{flags}\n{_REGISTERING}{rest}return functions.{script.function}(given_keys, given_arguments)\n"


@cache
def read_lua(path: str) -> str:
    """Return the text of one file under `lua/`."""
    return (files(lua) / path).read_text(encoding="utf-8")


@cache
def script_names() -> tuple[str, ...]:
    """Return the names of all scripts, sorted."""
    found = files(lua).iterdir()
    return tuple(sorted(each.name.removesuffix(".lua") for each in found if each.name.endswith(".lua")))


def arguments_of(text: str) -> tuple[str, ...]:
    """Return the names of ARGV that the header of a script lists, in order, the request token too."""
    argv = _ARGV.search(text)
    listed = re.split(r"[,()… ]+", argv.group(1)) if argv else []
    return tuple(word for word in listed if re.fullmatch(r"[a-z_]+", word))


def assemble(replaced_includes: Mapping[str, str] | None = None) -> Library:
    """Put the library together.

    Args:
        replaced_includes: Include name → text that replaces it; tests use this for a clock that they can set.
    """
    return _assembled(tuple(sorted((replaced_includes or {}).items())))


@cache
def _assembled(replaced_includes: tuple[tuple[str, str], ...]) -> Library:
    replaced = dict(replaced_includes)
    parts = [replaced.get(include) or read_lua(f"include/{include}.lua") for include in INCLUDES]
    # Each script is a block of its own, so that its local names do not reach the others.
    parts += [f"do\n{read_lua(f'{name}.lua')}end\n" for name in script_names()]
    body = "\n".join(parts)
    digest = hashlib.sha256(body.encode()).hexdigest()[:_DIGEST_CHARS]
    name = f"bandmaster_{digest}"
    scripts = {each: _script(each, digest) for each in script_names()}
    return Library(name, f"#!lua name={name}\nlocal DIGEST = '{digest}'\n{body}", scripts)


def _script(name: str, digest: str) -> Script:
    text = read_lua(f"{name}.lua")
    arguments = arguments_of(text)
    takes_token = arguments[:2] == TOKEN_ARGUMENTS
    return Script(
        name, f"{name}_{digest}", arguments[2:] if takes_token else arguments, takes_token, "once_if_memory(" in text
    )
