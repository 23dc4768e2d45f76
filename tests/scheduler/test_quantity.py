"""Kubernetes quantities as numbers."""

from decimal import Decimal

import pytest

from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.quantity import quantity_value

QUANTITIES = (
    ("100m", Decimal("0.1")),
    ("2", 2),
    ("0.5", Decimal("0.5")),
    (".5", Decimal("0.5")),
    ("1.", 1),
    ("128Mi", 128 * 1024**2),
    ("1.5G", 1_500_000_000),
    ("1k", 1000),
    ("1Ki", 1024),
    ("1e3", 1000),
    ("1E-3", Decimal("0.001")),
    ("1E", 10**18),
    ("1Ei", 1024**6),
    ("5n", Decimal("5e-9")),
)


def test_a_quantity_means_its_number(subtests: pytest.Subtests) -> None:
    for text, value in QUANTITIES:
        with subtests.test(text=text, value=value):
            assert quantity_value(text) == value


NO_QUANTITIES = (
    "",
    "0",
    "0Mi",
    "-1",
    "+1",
    "1 Mi",
    "1mi",
    "1MB",
    "Mi",
    ".",
    "1e",
    "1e333",
    "1.2.3",
    "¹",
    "1\n",
    "9" * 50,
    "nan",
    "inf",
)


def test_what_is_no_quantity_above_zero_is_refused(subtests: pytest.Subtests) -> None:
    for text in NO_QUANTITIES:
        with (
            subtests.test(text=text),
            pytest.raises(
                InvalidRequest, match="is not a quantity above zero; allowed: a Kubernetes quantity, like 100m"
            ),
        ):
            quantity_value(text)
