"""The server of a chaos run: with `appendfsync always` it loses nothing that it answered, however it is killed.

Killed, a copy of its data can be kept, and put in their place when it is killed again: a server that comes back with
what it knew then.
"""

import shutil
import time
from pathlib import Path
from typing import Final

from faults_server.own_server import OwnServer

from chaos import own_clock

_DATA: Final = "appendonlydir"
_COPY: Final = "copied"


class CopiedServer(OwnServer):
    """Its log is never written anew: a copy is a beginning of it."""

    def __init__(self, folder: Path) -> None:
        own = own_clock.environment(folder)
        super().__init__(folder, "--auto-aof-rewrite-percentage", "0", appendfsync="always", environment=own)
        self.folder: Final = folder
        self.copied_at = 0.0
        """Unix seconds; 0: there is no copy."""
        self._data, self._copy = folder / _DATA, folder / _COPY

    def restart(self) -> None:
        """Kill it, keep a copy, and start it again on the same data."""
        self.kill()
        shutil.rmtree(self._copy, ignore_errors=True)
        shutil.copytree(self._data, self._copy)
        self.copied_at = time.time()
        self.start()

    def restore(self) -> float:
        """Kill it and start it on the copy; returns when it was killed."""
        killed_at = time.time()
        self.kill()
        shutil.rmtree(self._data)
        shutil.copytree(self._copy, self._data)
        self.start()
        return killed_at
