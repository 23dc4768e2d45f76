"""The pytest fixtures: ``pytest_plugins = ["bandmaster.testing.fixtures"]`` in the conftest of an application's tests.

No entry point of pytest's loads them: one would import Bandmaster into every test run of every environment that has it,
those that never use it included.
"""

from collections.abc import Iterator

import pytest
from dramatiq import Worker

from .broker import BandedStubBroker
from .swap import in_memory, working


@pytest.fixture
def bandmaster_broker() -> Iterator[BandedStubBroker]:
    """The application's broker, in memory for one test."""
    with in_memory() as broker:
        yield broker


@pytest.fixture
def bandmaster_worker(bandmaster_broker: BandedStubBroker) -> Iterator[Worker]:
    """A worker of it, with eight threads."""
    with working(bandmaster_broker) as worker:
        yield worker
