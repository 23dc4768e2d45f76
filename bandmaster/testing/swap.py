"""Turns an application's own broker into one in memory for a while (`in_memory`), and runs a worker on it (`working`).

An application makes its broker at import, and its actors, its modules and Dramatiq all keep that object. So the object
itself is changed: it becomes a `BandedStubBroker`, and its former self afterwards. No name has to be patched, and the
application needs no switch. Results and barriers of groups are kept in memory too.
"""

import copy
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, cast

import dramatiq.broker
from dramatiq import Actor, Broker, Worker
from dramatiq.middleware import GroupCallbacks, Middleware
from dramatiq.rate_limits.backends import StubBackend as StubBarriers
from dramatiq.results import Results
from dramatiq.results.backends import StubBackend as StubResults

from bandmaster.middleware import BandedRedisBroker
from bandmaster.middleware.grants.results import forget_kept
from bandmaster.middleware.worker.lane_bounds import LaneBounds

from .broker import BandedStubBroker
from .controls import BOUNDS

IDLE_MS: Final = 20
"""How long an idle thread of a test's worker waits for a message, and so how long it takes to stop."""
STOP_MS: Final = 10_000

_booted: "weakref.WeakSet[Broker]" = weakref.WeakSet()


@contextmanager
def in_memory(broker: Broker | None = None) -> Generator[BandedStubBroker]:
    """Within this context, a broker keeps everything in memory; it is empty and has only the declared limits.

    Args:
        broker: The application's broker; by default the one set with `dramatiq.set_broker`.

    Yields:
        The same object, with its actors and middleware.
    """
    broker = broker or dramatiq.broker.global_broker
    if broker is None:
        broker = BandedStubBroker()
        dramatiq.set_broker(broker)
    stand_in = BandedStubBroker(middleware=_in_memory_middleware(broker.middleware))
    stand_in.adopt(_actors(broker).values())
    if isinstance(broker, BandedRedisBroker):
        _bound(stand_in, broker.bounds)
    before: tuple[type[Broker], dict[str, Any]] = (type(broker), vars(broker))
    _become(broker, BandedStubBroker, stand_in.__dict__)
    if broker not in _booted:
        _booted.add(broker)
        broker.emit_after("process_boot")  # some middleware starts a thread there, which works only once
    try:
        yield cast("BandedStubBroker", broker)
    finally:
        declared = _actors(broker)
        _become(broker, *before)
        for name in declared.keys() - broker.actors.keys():
            # Keep actors of modules imported meanwhile, which are not imported again; a test's own actors go with it.
            if "<locals>" not in declared[name].fn.__qualname__:
                broker.declare_actor(declared[name])


def _bound(stand_in: BandedStubBroker, bounds: LaneBounds) -> None:
    for lane in stand_in.queues:
        for name, value in bounds.of(lane).items():
            if name in BOUNDS:
                stand_in.queue.controls.change_setting(name, value, lane=lane)


def _become(broker: Broker, kind: type[Broker], state: dict[str, Any]) -> None:
    broker.__class__, broker.__dict__ = kind, state


def _actors(broker: Broker) -> "dict[str, Actor[..., Any]]":
    return cast("dict[str, Actor[..., Any]]", broker.actors)


def _in_memory_middleware(used: list[Middleware]) -> list[Middleware]:
    """A broker's middleware without ours; results and barriers that it keeps on a server are kept in memory."""
    kept: list[Middleware] = []
    for middleware in used:
        if type(middleware).__module__.startswith("bandmaster."):
            continue
        if isinstance(middleware, Results):
            middleware = copy.copy(middleware)
            forget_kept(middleware)
            middleware.backend = StubResults()
        elif isinstance(middleware, GroupCallbacks):
            middleware = copy.copy(middleware)
            middleware.rate_limiter_backend = StubBarriers()
        kept.append(middleware)
    return kept


@contextmanager
def working(broker: Broker, *, threads: int = 8) -> Generator[Worker]:
    """Run a worker in this process.

    Args:
        broker: The broker that it consumes from.
        threads: Use one to see the order in which bodies run; Dramatiq's default is eight.
    """
    worker = Worker(broker, worker_timeout=IDLE_MS, worker_threads=threads)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop(timeout=STOP_MS)
