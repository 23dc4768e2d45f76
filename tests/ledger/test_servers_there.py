"""On which PostgreSQL servers the other tests of ledger and API run; what is missing is said once, and loudly."""

import os

import pytest
from postgres import installations


def test_it_is_tried_on_debians_postgresql_too() -> None:
    _, *of_debian = installations()
    if not of_debian:
        said = "LEDGER AND API ARE NOT TESTED ON DEBIAN'S PostgreSQL: there is none (apt-get install postgresql)"
        assert os.environ.get("BANDMASTER_REQUIRE_POSTGRESQL") != "1", said
        pytest.skip(said)
    for name in installations():
        assert (installations()[name] / "postgres").exists(), name
