"""The start of a supervising process: it claims its pod's name, and detaches from the worker that started it.

The claim is a rename of the prepared folder, including its lock. It fails if the name is taken, so exactly one of any
number of simultaneous creators succeeds. From that moment the pod exists, with its supervisor, so a creator that dies
leaves either no pod or a complete one. ``launching.py`` starts it without importing Bandmaster. Standard library only.
"""

import errno
import os
import sys

from .records import Folder, Progress, lock_exclusively
from .supervisor import Supervisor

#: Exit codes for the worker that started this process.
CREATED, NAME_TAKEN, FAILED = 0, 3, 4


def main() -> None:
    """Claim the pod (the last two arguments: the prepared folder and the final one), detach, supervise."""
    os.umask(0o077)
    prepared, folder = Folder(sys.argv[-2]), Folder(sys.argv[-1])
    manifest = prepared.read_manifest()
    # Only this process and its child have the lock's descriptor: the lock is held as long as one of them lives.
    lock = lock_exclusively(prepared)
    if manifest is None or lock is None:
        sys.exit(FAILED)
    os.mkfifo(prepared.control, 0o600)
    # Open for reading and writing: it never reads as closed, and writers find a reader as long as this process lives.
    control = os.open(prepared.control, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    prepared.write_progress(Progress(uid=manifest.uid))
    try:
        os.rename(prepared.path, folder.path)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            sys.exit(NAME_TAKEN)
        raise
    if os.fork():
        os._exit(CREATED)
    Supervisor(folder, manifest, control, lock).run()
