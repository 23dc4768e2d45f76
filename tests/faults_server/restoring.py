"""A server without a log: killed, it comes back with its last snapshot, as after a lagging replica was promoted."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import redis

from faults_server.own_server import OwnServer


class RestoringServer(OwnServer):
    """What was written since `remember` is lost in `restore`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "--appendonly", "no")

    def remember(self) -> None:
        """Take a snapshot now."""
        with redis.Redis.from_url(self.url) as client:
            client.save()

    def restore(self) -> None:
        """Nobody is told."""
        self.kill()
        self.start()


@contextmanager
def restoring_server() -> Generator[RestoringServer]:
    """Runs, on a folder of its own."""
    # Not pytest's folder: its path may be longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        server = RestoringServer(Path(folder))
        server.start()
        yield server
        server.end()
