"""A worker of the program, and how its actors are declared."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import dramatiq
from dramatiq import Broker, Worker

JOIN_MS: Final = 60_000
GATED: Final[dict[str, Any]] = {"band": "HIGH"}
declare: Final[Any] = dramatiq.actor


@contextmanager
def running(broker: Broker) -> Generator[Worker]:
    """A worker in this process."""
    worker = Worker(broker, worker_timeout=100, worker_threads=2)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop(timeout=JOIN_MS)
