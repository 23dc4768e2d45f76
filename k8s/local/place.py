"""Names the folder of all local pods, so that workers can tell whether they share it.

The name is a nonce in a file beside the folder. A host's name or a path would not do: containers that share a folder
have another of each, and a folder that was deleted and made again has the same. If the process dies here, there is a
name or none. If two processes make one at once, the first link counts.
"""

import contextlib
import os
from uuid import uuid4

_SUFFIX = ".place"


def name_of(root: str) -> str:
    """Return the name of the folder, which has one from now on.

    Raises:
        OSError: If the folder cannot be read or written.
    """
    path = root + _SUFFIX
    if (known := _read(path)) is None:
        name = uuid4().hex
        made = f"{path}-{name}"
        with open(made, "x", encoding="ascii") as file:
            file.write(name)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(made, path)
        os.unlink(made)
        known = _read(path)
    if not known:
        raise OSError(f"{path} holds no name")
    return known


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return None
