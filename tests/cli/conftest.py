"""One `bandmaster up` for all tests of the command line that do not end it themselves."""

import signal
from collections.abc import Iterator

import pytest
from cli.driving import Driver, driving, running
from cli.through_api import Sides, sides_of
from receiver import SECRET

NOTIFYING = {"BANDMASTER_NOTIFY__SECRET": SECRET, "BANDMASTER_NOTIFY__PRIVATE_NETWORKS": "127.0.0.0/8"}
"""Receivers of the tests are on this machine."""


@pytest.fixture(scope="session")
def sides() -> Iterator[Sides]:
    """Commands in a folder where everything runs, beside Redis and through the API."""
    with driving() as driver:
        driver.environment |= NOTIFYING
        with running(driver) as up:
            yield sides_of(driver, up)
            assert up.end(signal.SIGINT, up.family()) == 130


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
