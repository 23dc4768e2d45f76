"""Names that cross the border: execution ids, lanes, actions, gate keys, users.

They become parts of Redis keys, labels of metrics and words in logs, so each has an alphabet, checked once where it
enters (events, service, command line) and trusted from there on. Nothing is stored here, so nothing can be lost here.
"""

import hashlib
import re
from typing import Final
from urllib.parse import quote

import uuid_utils

from .errors import InvalidRequest, shown

_EXECUTION_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_PATTERNS: Final = frozenset("*{}")
"""In no gate: `tenant:*` is a kind, `tenant:{tenant}` a template."""
_LANE: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9._-]{0,127}")
_ACTION: Final = re.compile(r"[A-Za-z0-9._:%-]{1,128}")

_ESCAPED: Final = re.compile(r"%(?=[0-9A-F]{2})")
_MEANT: Final = re.compile(r"[*{}]|%(?=[0-9A-F]{2})")
"""In a gate's key, a kind, a template or an escape."""

RESERVED_LANES: Final = frozenset({"held", "lanes"})

GATE_KEY_MAX_CHARS: Final = 200
USER_ID_MAX_CHARS: Final = 128
ACTION_MAX_CHARS: Final = 128
REASON_MAX_CHARS: Final = 200
_HASH_CHARS: Final = 16


def new_execution_id() -> str:
    """A fresh id: a UUIDv7, whose order is that of its making."""
    return str(uuid_utils.uuid7())


def check_execution_id(value: object) -> str:
    """The value, if it may name an execution; else InvalidRequest."""
    if isinstance(value, str) and _EXECUTION_ID.fullmatch(value):
        return value
    raise InvalidRequest(
        "execution_id", f"{shown(value)} is not an execution id", allowed="1 to 128 characters of A-Z a-z 0-9 . _ : -"
    )


def action_of(actor_name: str) -> str:
    """The action of an actor that names none: its name, what no action may have in it written as %XX."""
    name = quote(actor_name, safe=":", errors="surrogatepass").replace("~", "%7E")
    if len(name) <= ACTION_MAX_CHARS:
        return check_action(name)
    whole = hashlib.sha256(actor_name.encode(errors="surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{name[: ACTION_MAX_CHARS - _HASH_CHARS - 1]}.{whole}"


def as_part_of_key(value: str) -> str:
    """A text as a part of a gate's key: what no key may have in it is written as %XX, as is what would read as that.

    Raises:
        InvalidRequest: If it is no text that UTF-8 can hold.
    """
    if value.isprintable() and not _MEANT.search(value):
        return value
    try:
        return "".join(
            one if one.isprintable() and one not in "*{}" else quote(one, safe="") for one in _ESCAPED.sub("%25", value)
        )
    except UnicodeEncodeError:
        raise InvalidRequest("gate", f"{shown(value)} is no valid text", allowed="what UTF-8 can hold") from None


def check_lane(value: object) -> str:
    """The value, if it may name a lane (a Dramatiq queue); else InvalidRequest."""
    # The keys of gate `x:waiting` would be those of gate `x` in these lanes.
    if isinstance(value, str) and _LANE.fullmatch(value) and value not in RESERVED_LANES:
        return value
    raise InvalidRequest(
        "lane",
        f"{shown(value)} is not a lane's name",
        allowed="1 to 128 characters of a-z A-Z 0-9 . _ -, the first a letter or _; not held, not lanes",
    )


def check_action(value: object) -> str:
    """The value, if it may name an action; else InvalidRequest."""
    if isinstance(value, str) and _ACTION.fullmatch(value):
        return value
    raise InvalidRequest(
        "action", f"{shown(value)} is not an action", allowed="1 to 128 characters of A-Z a-z 0-9 . _ : % -"
    )


def check_gate_key(value: object) -> str:
    """The value, if it may be a gate's key (`action:X`, `user:Y` or any other); else InvalidRequest."""
    if isinstance(value, str) and (value == "*" or value.startswith("lane:")):
        # These name what can be paused beside the gates.
        raise InvalidRequest("gate", f"{shown(value)} is no gate", allowed="any other key; a lane can only be paused")
    # isprintable() is false for every control character, surrogate and white space except the plain blank.
    if isinstance(value, str) and len(value) <= GATE_KEY_MAX_CHARS and value.isprintable() and value.strip():
        if _PATTERNS.isdisjoint(value):
            return value
        raise InvalidRequest(
            "gate",
            f"{shown(value)} is not a gate's key",
            allowed="no *, { or }; a limit alone may be of a kind, tenant:*",
        )
    raise InvalidRequest(
        "gate",
        f"{shown(value)} is not a gate's key",
        allowed=f"1 to {GATE_KEY_MAX_CHARS} printable characters, not all blank, like action:resize or tenant:42",
    )


def check_user_id(value: object) -> str:
    """The value, if it may name a user; else InvalidRequest."""
    if isinstance(value, str) and len(value) <= USER_ID_MAX_CHARS and value.isprintable() and value.strip():
        if _PATTERNS.isdisjoint(value):
            return value
        raise InvalidRequest("user_id", f"{shown(value)} is not a user's id", allowed="no *, { or }")
    raise InvalidRequest(
        "user_id",
        f"{shown(value)} is not a user's id",
        allowed=f"1 to {USER_ID_MAX_CHARS} printable characters, not all blank",
    )


def check_reason(value: object) -> str:
    """The value, if it may say why somebody cancelled an execution; else InvalidRequest."""
    if isinstance(value, str) and len(value) <= REASON_MAX_CHARS and value.isprintable():
        return value
    raise InvalidRequest(
        "reason", f"{shown(value)} is none", allowed=f"at most {REASON_MAX_CHARS} printable characters"
    )
