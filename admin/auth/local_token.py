"""The token of an API that only this machine reaches: a file that only its owner can read.

In the flow: an API on a loopback address with no other credentials makes one at its first start, and whoever may read
the file may call it. So no page of a website and no other user of the machine can, and nobody has to configure
anything. All processes of one folder share it. Deleting the file, and starting them again, ends it.
"""

from pathlib import Path
from typing import Final

from ...configs.errors import SettingsError
from ...configs.own_files import own_text
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
        SettingsError: If what is there is not ours, or others may read it, or it is no token, or none can be made.
    """
    path = folder / FILE
    secret = Secret.read(own_text(path, lambda: Secret.new(_ID).text))
    if secret is None or secret.token_id != _ID:
        raise SettingsError(f"{path}: it is no token; delete it, and a new one is made")
    return Token(
        token_id=secret.token_id,
        digest=secret.digest,
        owner=user_at_host().partition("@")[0],
        scopes=frozenset({Scope.ADMIN}),
        max_band=Priority.CRITICAL,
        created_by="this machine",
    )
