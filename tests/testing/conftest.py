"""A broker in memory, for tests whose actors are declared on it."""

from collections.abc import Iterator

import dramatiq
import pytest
from dramatiq.brokers.stub import StubBroker

from bandmaster.testing import BandedStubBroker


@pytest.fixture
def broker() -> Iterator[BandedStubBroker]:
    """Empty, and without limits."""
    broker = BandedStubBroker()
    dramatiq.set_broker(broker)
    yield broker
    dramatiq.set_broker(StubBroker())
