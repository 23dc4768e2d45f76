"""Tools for an application's own tests: gated actors in memory, on Dramatiq's `StubBroker`, without a server.

Order, limits, delays, retries and refusals are those of `BandedRedisBroker`. `docs/testing.md` shows how to use it;
``bandmaster.testing.fixtures`` has the pytest fixtures. Only that module needs pytest, and no other package of
Bandmaster imports this one.
"""

from .broker import BandedStubBroker
from .swap import in_memory, working

__all__ = ["BandedStubBroker", "in_memory", "working"]
