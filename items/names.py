"""Checks of the names of queues, triggers and robots, where they enter."""

import re
from typing import Final

from ..scheduler.model.errors import InvalidRequest, shown
from .bounds import NAME_MAX_CHARS, ROBOT_ID_MAX_CHARS

QUEUE_NAME: Final = re.compile(rf"[A-Za-z_][A-Za-z0-9._-]{{0,{NAME_MAX_CHARS - 1}}}")
"""Begins with a letter, so that it is no queue's id."""
_ALLOWED: Final = f"1 to {NAME_MAX_CHARS} characters of A-Z a-z 0-9 . _ -, the first a letter or _"
ROBOT_ID: Final = re.compile(rf"[A-Za-z0-9._:@+-]{{1,{ROBOT_ID_MAX_CHARS}}}")
MADE_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
"""What an item's or a notification's id may be."""
_WORDS: Final = frozenset({"add", "next"})
"""What stands in paths of the API where an item's id does."""


def check_item_id(value: str) -> str:
    """Return the value if it may be an item's id; else raise InvalidRequest."""
    if MADE_ID.fullmatch(value) and value not in _WORDS:
        return value
    raise InvalidRequest("item", f"{shown(value)} is no item's id", allowed="as `bandmaster item` lists them")


def check_queue_name(value: str) -> str:
    """Return the value if it may name a queue; else raise InvalidRequest."""
    if QUEUE_NAME.fullmatch(value):
        return value
    raise InvalidRequest("queue", f"{shown(value)} is no name of a queue", allowed=_ALLOWED)


def check_trigger_name(value: str) -> str:
    """Return the value if it may name a trigger; else raise InvalidRequest."""
    if QUEUE_NAME.fullmatch(value):
        return value
    raise InvalidRequest("trigger", f"{shown(value)} is no name of a trigger", allowed=_ALLOWED)


def check_robot_id(value: str) -> str:
    """Return the value if it may name a robot; else raise InvalidRequest."""
    if ROBOT_ID.fullmatch(value):
        return value
    allowed = f"1 to {ROBOT_ID_MAX_CHARS} characters of A-Z a-z 0-9 . _ : @ + -"
    raise InvalidRequest("robot_id", f"{shown(value)} is no name of a robot", allowed=allowed)
