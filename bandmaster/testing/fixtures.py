"""The pytest fixtures: ``pytest_plugins = ["bandmaster.testing.fixtures"]`` in the conftest of an application's tests.

They are not a pytest entry point: that would import Bandmaster into every test run of every environment that has it
installed, even where no test uses it.
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
    """A worker of that broker, with eight threads."""
    with working(bandmaster_broker) as worker:
        yield worker
