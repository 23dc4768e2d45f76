"""Who an operator's change is put down to, in the journal: a text for people, no proof.

In the flow: limits, pauses, settings, cancellations and priorities carry it into the script that makes the change. Who
gives none is named by user, host and program. Nothing is stored here.
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
"""Asked by the engine's own parts, not by somebody."""
BY_MAX_CHARS: Final = 200


@cache
def user_at_host() -> str:
    """The user of this process and its host, as ``ann@web-1``."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may run under a number without a name
        user = str(os.getuid())
    return _printable(f"{user}@{socket.gethostname()}")


@cache
def this_process() -> str:
    """The same with the program, as ``app@web-1/gunicorn``."""
    program = Path(sys.argv[0] if sys.argv else "").name or "python"
    return _printable(f"{user_at_host()}/{program}")


def check_by(value: object) -> str:
    """The value, if it may say who asks; this process for None; else InvalidRequest."""
    if value is None:
        return this_process()
    if isinstance(value, str) and len(value) <= BY_MAX_CHARS and value.isprintable() and value.strip():
        return value
    raise InvalidRequest(
        "by", f"{shown(value)} does not name who asks", allowed=f"1 to {BY_MAX_CHARS} printable characters"
    )


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)[:BY_MAX_CHARS]
