"""The Lua scripts' sources: read from `lua/`, their includes put in, their headers parsed.

A script's header is its documentation and is held to the body by a test: purpose, atomicity, ``KEYS``, ``ARGV`` (the
names of its arguments in order), ``Returns``, ``include``. Nothing here talks to Redis.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

_ARGV: Final = re.compile(r"^-- ARGV:(.*)$", re.MULTILINE)
_INCLUDE: Final = re.compile(r"^-- include: (.*)$", re.MULTILINE)
_COMMENT_LINE: Final = re.compile(r"^ *--.*\n", re.MULTILINE)
_FUNCTION: Final = re.compile(r"^local function (\w+)\(.*?^end\n", re.MULTILINE | re.DOTALL)
_DERIVED_KEY: Final = re.compile(r"^    (\w+) = function\(.*end,\n", re.MULTILINE)
TOKEN_ARGUMENTS: Final = ("caller", "number")
"""The request token, first in the ARGV of every script whose effect must not happen twice."""


@dataclass(frozen=True, slots=True)
class ScriptSource:
    """One script as Redis gets it."""

    name: str
    text: str
    sha: str
    arguments: tuple[str, ...]
    """The names in ARGV, without the request token."""
    takes_token: bool


def _pruned(text: str) -> str:
    """Without comments and without what the includes offer and this script does not use.

    The server builds every function of a script anew in each call: those nobody calls cost it as much as those in use.
    """
    text = _COMMENT_LINE.sub("", text)
    text = _DERIVED_KEY.sub(lambda found: found[0] if f"D.{found[1]}(" in text else "", text)
    while True:
        words = Counter(re.findall(r"\w+", text))
        kept = _FUNCTION.sub(lambda found, words=words: found[0] if words[found[1]] > _own(found) else "", text)
        if kept == text:
            return "local call = redis.call\n" + text.replace("redis.call(", "call(")
        text = kept


def _own(found: "re.Match[str]") -> int:
    # How often a function's text has its own name: its definition, and its calls of itself.
    return len(re.findall(rf"\b{found[1]}\b", found[0]))


@cache
def read_lua(path: str) -> str:
    """The text of one file under `lua/`."""
    return (files(f"{__package__}.lua") / path).read_text(encoding="utf-8")


def script_names() -> list[str]:
    """Every script, by name."""
    return sorted(f.name.removesuffix(".lua") for f in files(f"{__package__}.lua").iterdir() if f.name.endswith(".lua"))


def assemble(name: str, replaced_includes: Mapping[str, str] | None = None) -> ScriptSource:
    """Put a script together from its file and its includes.

    Args:
        name: The transition.
        replaced_includes: Include name → text in its place; tests put a clock there that they can turn.
    """
    body = read_lua(f"{name}.lua")
    include_line = _INCLUDE.search(body)
    parts: list[str] = []
    for include in include_line.group(1).split() if include_line else ():
        replaced = (replaced_includes or {}).get(include)
        parts.append(read_lua(f"include/{include}.lua") if replaced is None else replaced)
    text = _pruned("\n".join([*parts, body]))
    argv = _ARGV.search(body)
    listed = re.split(r"[,()… ]+", argv.group(1)) if argv else []
    arguments = tuple(word for word in listed if re.fullmatch(r"[a-z_]+", word))
    takes_token = arguments[:2] == TOKEN_ARGUMENTS
    return ScriptSource(
        name=name,
        text=text,
        sha=hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
        arguments=arguments[2:] if takes_token else arguments,
        takes_token=takes_token,
    )
