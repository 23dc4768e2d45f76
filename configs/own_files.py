"""``own_text()``: a secret in a file that only its owner can read, made where there is none.

In the flow: an API on this machine keeps its token so, and workers and API with local programs the key of the tokens
for items. All processes of one folder share the file, and the first of those that start at once makes it. A process
that dies while it makes one leaves at most a file under another name, which nobody reads. Deleting the file makes
another secret at the next start.
"""

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Final

from .errors import SettingsError

_MAX_BYTES: Final = 4_096


def own_text(path: Path, make: Callable[[], str]) -> str:
    """Return the text of a file of ours, without spaces around it.

    Args:
        path: The file; its folder is made, too.
        make: Returns the text of a new one, in ASCII.

    Raises:
        SettingsError: If it cannot be made or read, is a link, no file or another's, or others may read or write it.
    """
    try:
        if not os.path.lexists(path):
            _make(path, make())
    except OSError as error:
        raise SettingsError(f"{path}: it cannot be made: {error.strerror}") from None
    try:
        return _read(path)
    except OSError as error:
        raise SettingsError(f"{path}: it cannot be read: {error.strerror}") from None


def _make(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under another name first: nobody finds half a secret, nor a file that others may read. The first of two wins.
    fresh = path.with_suffix(f".{token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{text}\n")
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        fresh.unlink()


def _read(path: Path) -> str:
    # A link could name a file that somebody else may change, and a pipe would be waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise SettingsError(f"{path}: it is no file; delete it, and one is made")
        if found.st_uid != os.geteuid():
            raise SettingsError(f"{path}: it belongs to another user; let all processes of this folder run as one")
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise SettingsError(f"{path}: others may read or write it; delete it, and a new one is made")
        return os.read(descriptor, _MAX_BYTES).decode("ascii", errors="replace").strip()
    finally:
        os.close(descriptor)
