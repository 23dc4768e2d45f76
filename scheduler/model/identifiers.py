"""Checks of the names that callers give: execution ids, lanes, actions, gate keys, users.

They become parts of Redis keys, labels of metrics and words in logs. So each kind of name has an alphabet, is checked
once where it enters (events, service, command line) and is trusted from there on. Nothing is stored here.
"""

import hashlib
import re
from typing import Final
from urllib.parse import quote

import uuid_utils

from .errors import InvalidRequest, shown

EXECUTION_ID: Final = re.compile(r"(?!\.+$)[A-Za-z0-9._:-]{1,128}")
"""Not of dots only: in a path, `.` and `..` are no names, and a client resolves them before it sends."""
_PATTERNS: Final = frozenset("*{}")
"""Characters that no gate's key may have: `tenant:*` is a kind, `tenant:{tenant}` a template."""
LANE: Final = re.compile(
    r"(?:[a-zA-Z_][a-zA-Z0-9._-]{0,127}|slot:(?:\*|(?!(?:.*:)?(?:held|lanes)$)[A-Za-z0-9._:%-]{1,128}))"
)
"""A Dramatiq queue, whose name has no colon; or the slots of a name that code takes, `slot:NAME`, with the bounds of
`slot:*` unless it has its own."""
SLOT_LANES: Final = "slot:"
EVERY_SLOT_LANE: Final = "slot:*"
ACTION: Final = re.compile(r"[A-Za-z0-9._:%-]{1,128}")

_ESCAPED: Final = re.compile(r"%(?=[0-9A-F]{2})")
_MEANT: Final = re.compile(r"[*{}]|%(?=[0-9A-F]{2})")
"""Text with a meaning of its own in a gate's key: that of a kind, a template or an escape."""

RESERVED_LANES: Final = frozenset({"held", "lanes"})

GATE_KEY_MAX_CHARS: Final = 200
USER_ID_MAX_CHARS: Final = 128
ACTION_MAX_CHARS: Final = 128
REASON_MAX_CHARS: Final = 200
_HASH_CHARS: Final = 16


def new_execution_id() -> str:
    """Return a fresh id: a UUIDv7, so ids sort in the order in which they were made."""
    return str(uuid_utils.uuid7())


def check_execution_id(value: object) -> str:
    """Return the value if it may name an execution; else raise InvalidRequest."""
    if isinstance(value, str) and EXECUTION_ID.fullmatch(value):
        return value
    raise InvalidRequest(
        "execution_id",
        f"{shown(value)} is not an execution id",
        allowed="1 to 128 characters of A-Z a-z 0-9 . _ : -, not only dots",
    )


def action_of(actor_name: str) -> str:
    """Return the action of an actor that names none: the actor's name, with forbidden characters written as %XX."""
    name = quote(actor_name, safe=":", errors="surrogatepass").replace("~", "%7E")
    if len(name) <= ACTION_MAX_CHARS:
        return check_action(name)
    whole = hashlib.sha256(actor_name.encode(errors="surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{name[: ACTION_MAX_CHARS - _HASH_CHARS - 1]}.{whole}"


def as_part_of_key(value: str) -> str:
    """Return a text as a part of a gate's key: characters that no key may have are written as %XX, and so is a % that
    already looks like such an escape.

    Raises:
        InvalidRequest: If UTF-8 cannot hold the text.
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
    """Return the value if it may name a lane (a Dramatiq queue); else raise InvalidRequest."""
    # In a lane of a reserved name, a key of gate `x` would be spelled like one of gate `x:waiting`.
    if isinstance(value, str) and LANE.fullmatch(value) and value not in RESERVED_LANES:
        return value
    raise InvalidRequest(
        "lane",
        f"{shown(value)} is not a lane's name",
        allowed="1 to 128 characters of a-z A-Z 0-9 . _ -, the first a letter or _; not held, not lanes",
    )


def slot_lane(name: str) -> str:
    """Return the lane in which code waits for slots of this name, which is their action."""
    return check_lane(f"{SLOT_LANES}{check_action(name)}")


def slot_execution_id(owner: str, number: int) -> str:
    """Return the id of the execution that is one waiting, or one slot, of a process."""
    return f"{SLOT_LANES}{owner}:{number}"


def slot_number(execution_id: str) -> int:
    """Return the number in such an id, which rises in a process."""
    return int(execution_id.rpartition(":")[2])


def check_action(value: object) -> str:
    """Return the value if it may name an action; else raise InvalidRequest."""
    if isinstance(value, str) and ACTION.fullmatch(value):
        return value
    raise InvalidRequest(
        "action", f"{shown(value)} is not an action", allowed="1 to 128 characters of A-Z a-z 0-9 . _ : % -"
    )


def check_gate_key(value: object) -> str:
    """Return the value if it may be a gate's key (`action:X`, `user:Y` or any other); else raise InvalidRequest."""
    if isinstance(value, str) and (value == "*" or value.startswith("lane:")):
        # These names stand for everything and for lanes, which can be paused like gates.
        raise InvalidRequest("gate", f"{shown(value)} is no gate", allowed="any other key; a lane can only be paused")
    # isprintable() is false for all control characters and surrogates, and all white space but the plain blank.
    if isinstance(value, str) and len(value) <= GATE_KEY_MAX_CHARS and value.isprintable() and value.strip():
        if _PATTERNS.isdisjoint(value):
            return value
        raise InvalidRequest(
            "gate",
            f"{shown(value)} is not a gate's key",
            allowed="no *, { or }; only a limit or a rate may be of a kind, tenant:*",
        )
    raise InvalidRequest(
        "gate",
        f"{shown(value)} is not a gate's key",
        allowed=f"1 to {GATE_KEY_MAX_CHARS} printable characters, not all blank, like action:resize or tenant:42",
    )


def check_user_id(value: object) -> str:
    """Return the value if it may name a user; else raise InvalidRequest."""
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
    """Return the value if it may say why somebody cancelled an execution; else raise InvalidRequest."""
    if isinstance(value, str) and len(value) <= REASON_MAX_CHARS and value.isprintable():
        return value
    raise InvalidRequest(
        "reason", f"{shown(value)} is none", allowed=f"at most {REASON_MAX_CHARS} printable characters"
    )
