"""An application of two actors whose bands live on two servers, with a worker in this process."""

import threading
from typing import Any, Final

import dramatiq
from dramatiq import Worker

from bandmaster import BandedRedisBroker

THREADS: Final = 2
DEADLINE_SECONDS: Final = 1.0


class Application:
    """Of the servers that it is given; `begin` starts its worker."""

    def __init__(self, urls: dict[str, str], **arguments: Any) -> None:
        given: dict[str, Any] = {"shards": {"low": {"url": urls["low"], "bands": ["LOW"]}}} | arguments
        self.broker = BandedRedisBroker(
            url=urls["default"], deadline_seconds=DEADLINE_SECONDS, lease_ttl_ms=2_000, **given
        )
        self.ran: dict[str, list[str]] = {"high": [], "low": []}
        self.holds = threading.Event()
        self.holds.set()
        self.began = threading.Semaphore(0)
        self._worker: Worker | None = None

        @dramatiq.actor(broker=self.broker, band="HIGH", max_retries=0)
        def high(name: str) -> None:
            self.ran["high"].append(name)

        @dramatiq.actor(broker=self.broker, band="LOW", max_retries=0)
        def low(name: str) -> None:
            self.began.release()
            self.holds.wait(120)
            self.ran["low"].append(name)

        self.high, self.low = high, low

    def begin(self, threads: int = THREADS) -> None:
        """Start the worker."""
        self._worker = Worker(self.broker, worker_timeout=100, worker_threads=threads)
        self._worker.start()

    def stop(self) -> None:
        """Stop it."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()

    def end(self) -> None:
        """Whatever runs."""
        self.holds.set()
        self.stop()
        self.broker.close()
        self.broker.client.close()

    def depth(self, shard: str) -> int:
        """How many executions wait on a shard."""
        assert self.broker.shards is not None
        return self.broker.shards.brokers[shard].queue.on("default").views.status().queue_depth
