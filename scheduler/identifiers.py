"""Names that cross the border: execution ids, lanes, actions, gate keys, users.

They become parts of Redis keys, labels of metrics and words in logs, so each has an alphabet, checked once where it
enters (events, service, command line) and trusted from there on. Nothing is stored here, so nothing can be lost here.
"""

import re
from typing import Final

import uuid_utils

from .errors import InvalidRequest, shown

_EXECUTION_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_LANE: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9._-]{0,127}")
_ACTION: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")

RESERVED_LANES: Final = frozenset({"held", "lanes"})

GATE_KEY_MAX_CHARS: Final = 200
USER_ID_MAX_CHARS: Final = 128


def new_execution_id() -> str:
    """A fresh id: a UUIDv7, whose order is that of its making."""
    return str(uuid_utils.uuid7())


def check_execution_id(value: object) -> str:
    """The value, if it may name an execution; else InvalidRequest."""
    if isinstance(value, str) and _EXECUTION_ID.fullmatch(value):
        return value
    raise InvalidRequest(
        "execution_id", f"{shown(value)} is not an execution id", allowed="1 to 128 characters of A-Z a-z 0-9 . _ -"
    )


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
        "action", f"{shown(value)} is not an action", allowed="1 to 128 characters of A-Z a-z 0-9 . _ -"
    )


def check_gate_key(value: object) -> str:
    """The value, if it may be a gate's key (`action:X`, `user:Y` or any other); else InvalidRequest."""
    if isinstance(value, str) and (value == "*" or value.startswith("lane:")):
        # These name what can be paused beside the gates.
        raise InvalidRequest("gate", f"{shown(value)} is no gate", allowed="any other key; a lane can only be paused")
    # isprintable() is false for every control character, surrogate and white space except the plain blank.
    if isinstance(value, str) and 1 <= len(value) <= GATE_KEY_MAX_CHARS and value.isprintable() and " " not in value:
        return value
    raise InvalidRequest(
        "gate",
        f"{shown(value)} is not a gate's key",
        allowed=f"1 to {GATE_KEY_MAX_CHARS} printable characters without white space, like action:resize or tenant:42",
    )


def check_user_id(value: object) -> str:
    """The value, if it may name a user; else InvalidRequest."""
    if isinstance(value, str) and len(value) <= USER_ID_MAX_CHARS and value.isprintable() and value.strip():
        return value
    raise InvalidRequest(
        "user_id",
        f"{shown(value)} is not a user's id",
        allowed=f"1 to {USER_ID_MAX_CHARS} printable characters, not all blank",
    )
