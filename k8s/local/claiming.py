"""The first moments of a supervising process: it claims its pod's name, and detaches from who started it.

The claim is a rename of the prepared folder, lock and all, which fails if the name is taken: of any number of creators
at once, exactly one has its way. The pod exists from that moment, with its supervisor, so a creator that dies leaves
either no pod or a whole one. Standard library only; started by ``launching.py`` without Bandmaster around it.
"""

import errno
import os
import sys

from .records import Folder, Progress, lock_exclusively
from .supervisor import Supervisor

#: Exit codes for the one who started this process.
CREATED, NAME_TAKEN, FAILED = 0, 3, 4


def main() -> None:
    """Claim the pod (the last two arguments: the prepared folder and the final one), detach, supervise."""
    os.umask(0o077)
    prepared, folder = Folder(sys.argv[-2]), Folder(sys.argv[-1])
    manifest = prepared.read_manifest()
    # The lock's descriptor stays open here and in the child, and nowhere else: it is held as long as one of them lives.
    lock = lock_exclusively(prepared)
    if manifest is None or lock is None:
        sys.exit(FAILED)
    os.mkfifo(prepared.control, 0o600)
    # Open for both, so that it never reads as ended and a writer always finds a reader while this process lives.
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
