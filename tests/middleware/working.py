"""A worker in this process, and the plain brokers with our two middleware."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from dramatiq import Broker, Worker
from dramatiq.brokers.redis import RedisBroker
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import Middleware

from bandmaster import ConcurrencyGate, PriorityBands
from bandmaster.middleware.worker import worker_process
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS

WORKER_TIMEOUT_MS = 100
"""How long the threads of a test's worker sit idle, and so how long it takes to stop."""
NEVER_SECONDS = 600.0
"""Longer than any test waits."""


@contextmanager
def running(
    broker: Broker, *, threads: int = 4, timeout_ms: int = WORKER_TIMEOUT_MS, **options: Any
) -> Generator[Worker]:
    """A worker in this process; when it is idle at the end, no permit may be missing."""
    worker = Worker(broker, worker_timeout=timeout_ms, worker_threads=threads, **options)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop(timeout=GENEROUS_MS)


def only_when_told(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its next rest on the worker finds nothing by itself in a test's time: what starts, it was told of."""
    monkeypatch.setattr(worker_process, "LONGEST_WAIT_SECONDS", NEVER_SECONDS)
    worker.worker_timeout = int(NEVER_SECONDS * 1000)


def plain_redis_broker(redis_url: str) -> RedisBroker:
    """Dramatiq's broker with our two middleware."""
    broker = RedisBroker(client=client_of(redis_url))
    broker.add_middleware(PriorityBands(client_of(redis_url)))
    broker.add_middleware(ConcurrencyGate(client_of(redis_url)))
    return broker


def stub_broker(redis_url: str, *middleware: Middleware) -> StubBroker:
    """Dramatiq's broker for tests, with our two middleware, and others before them."""
    broker = StubBroker()
    for each in middleware:
        broker.add_middleware(each)
    broker.add_middleware(PriorityBands(client_of(redis_url)))
    broker.add_middleware(ConcurrencyGate(client_of(redis_url)))
    return broker
