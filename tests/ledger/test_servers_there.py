"""On which PostgreSQL servers the other tests of ledger and API run; what is missing is said once, and loudly."""

import os
import re
from pathlib import Path

import pytest
from postgres import installations

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_it_is_tried_on_debians_postgresql_too() -> None:
    _, *of_debian = installations()
    if not of_debian:
        said = "LEDGER AND API ARE NOT TESTED ON DEBIAN'S PostgreSQL: there is none (apt-get install postgresql)"
        assert os.environ.get("BANDMASTER_REQUIRE_POSTGRESQL") != "1", said
        pytest.skip(said)
    for name in installations():
        assert (installations()[name] / "postgres").exists(), name


def test_every_postgresql_that_is_named_is_tested_by_the_workflow() -> None:
    said = re.search(r"tested on PostgreSQL ([\d, and]+)\.", (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8"))
    assert said is not None
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert re.findall(r"\d+", said[1]) == re.findall(r"\bpostgresql-(\d+)\b", workflow)
