"""The token of an API that only this machine reaches: a file that only its owner can read.

In the flow: an API on a loopback address with no other credentials makes one at its start, and whoever may read the
file may call it. So no page of a website and no other user of the machine can, and nobody has to configure anything.
It is made anew at each start.
"""

import os
from pathlib import Path
from typing import Final

from ...scheduler.model.operators import user_at_host
from ...scheduler.model.priority import Priority
from .scopes import Scope
from .secrets import Secret
from .tokens import Token

FILE: Final = "api-token"


def make_local_token(folder: Path) -> Token:
    """Make the token, and write its text into a file of the folder.

    Raises:
        OSError: If the file cannot be written.
    """
    secret = Secret.new("local")
    path = folder / FILE
    folder.mkdir(parents=True, exist_ok=True)
    # Under another name first: a reader finds the old text or the new one, and never a file that others may read.
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{secret.text}\n")
    fresh.replace(path)
    return Token(
        token_id=secret.token_id,
        digest=secret.digest,
        owner=user_at_host().partition("@")[0],
        scopes=frozenset({Scope.ADMIN}),
        max_band=Priority.CRITICAL,
        created_by="this process",
    )
