"""The name under which the journal records an operator's change: a text for people, not a proof of identity.

In the flow: calls that change limits, pauses, settings or priorities, or cancel, pass this name to their script. If a
caller gives none, the user, host and program of the process stand in. Nothing is stored here.
"""

import getpass
import os
import socket
import sys
from functools import cache
from pathlib import Path
from typing import Final

from .errors import InvalidRequest, shown

NO_OPERATOR: Final = ""
"""The name for calls of the engine's own parts, behind which no operator stands."""
BY_MAX_CHARS: Final = 200


@cache
def user_at_host() -> str:
    """Return this process's user and host, as ``ann@web-1``."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may run under a user id that has no name
        user = str(os.getuid())
    return _printable(f"{user}@{socket.gethostname()}")


@cache
def this_process() -> str:
    """Return this process's user, host and program, as ``app@web-1/gunicorn``."""
    program = Path(sys.argv[0] if sys.argv else "").name or "python"
    return _printable(f"{user_at_host()}/{program}")


def check_by(value: object) -> str:
    """Return the value if it may name an operator, and this process's name for None; else raise InvalidRequest."""
    if value is None:
        return this_process()
    if isinstance(value, str) and len(value) <= BY_MAX_CHARS and value.isprintable() and value.strip():
        return value
    raise InvalidRequest(
        "by", f"{shown(value)} does not name who asks", allowed=f"1 to {BY_MAX_CHARS} printable characters"
    )


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)[:BY_MAX_CHARS]
