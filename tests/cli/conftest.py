"""One `bandmaster up` for all tests of the command line that do not end it themselves."""

from collections.abc import Iterator

import pytest
from cli.driving import Driver, driving
from cli.through_api import Sides, running_sides


@pytest.fixture(scope="session")
def sides() -> Iterator[Sides]:
    """Commands in a folder where everything runs, beside Redis and through the API."""
    with running_sides() as sides:
        yield sides


@pytest.fixture(scope="session")
def driver(sides: Sides) -> Driver:
    """Commands in a folder where everything runs."""
    return sides.driver


@pytest.fixture
def paused(driver: Driver) -> Iterator[None]:
    """Nothing starts during the test."""
    driver.json("pause")
    yield
    driver.json("resume")


@pytest.fixture
def idle() -> Iterator[Driver]:
    """Commands in a folder where nothing runs."""
    with driving() as driver:
        yield driver
