"""The token of an API that only this machine reaches: a file that only its owner can read.

In the flow: an API on a loopback address with no other credentials makes one at its first start, and whoever may read
the file may call it. So no page of a website and no other user of the machine can, and nobody has to configure
anything. All processes of one folder share it. Deleting the file, and starting them again, ends it.
"""

import contextlib
import os
import stat
from pathlib import Path
from secrets import token_hex
from typing import Final

from ...configs.errors import SettingsError
from ...scheduler.model.operators import user_at_host
from ...scheduler.model.priority import Priority
from .scopes import Scope
from .secrets import Secret
from .tokens import Token

FILE: Final = "api-token"
_ID: Final = "local"


def local_token(folder: Path) -> Token:
    """Return the token of a folder, whose text stands in a file there; it is made if there is none.

    Raises:
        SettingsError: If what is there is not ours, or others may read it, or it is no token.
        OSError: If the file cannot be written or read.
    """
    path = folder / FILE
    if not os.path.lexists(path):
        _make(path)
    secret = _read(path)
    return Token(
        token_id=secret.token_id,
        digest=secret.digest,
        owner=user_at_host().partition("@")[0],
        scopes=frozenset({Scope.ADMIN}),
        max_band=Priority.CRITICAL,
        created_by="this machine",
    )


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under another name first: nobody finds half a token, nor a file that others may read. The first of two wins.
    fresh = path.with_suffix(f".{token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{Secret.new(_ID).text}\n")
    with contextlib.suppress(FileExistsError):
        os.link(fresh, path)
    fresh.unlink()


def _read(path: Path) -> Secret:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as file:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise SettingsError(f"{path}: others may read or write it; delete it, and a new one is made")
        secret = Secret.read(file.read(200).strip())
    if secret is None or secret.token_id != _ID:
        raise SettingsError(f"{path}: it is no token; delete it, and a new one is made")
    return secret
