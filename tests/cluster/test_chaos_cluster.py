"""A short chaos run; `make chaos-cluster` makes long ones. And runs that have to find what was planted."""

import pytest
from chaos_planted import PLANTED
from chaos_run import run_chaos
from components import components_or_skip

FOUND = {
    "program": "programs at once in",
    "pod": "pods that are held for their results are left",
    "end": "ended as",
    "execution": "planted",
}
"""What is planted → how the violation begins, or what it names."""
# Each fault by itself is made in a test of its own; here they meet, and the checker is checked (what it finds, without
# a cluster: test_chaos_rules.py).
pytestmark = [pytest.mark.disturbs, pytest.mark.nightly]


def test_in_rough_weather_no_slot_is_given_twice_and_each_execution_ends_once(kubeconfig: str) -> None:
    report = run_chaos(kubeconfig, components_or_skip, seed=2, seconds=15)
    assert not report.violations, "\n".join(report.lines())
    assert report.most_programs > 1
    assert sum(report.faults.values()) >= 4


def test_every_kind_that_can_be_planted_has_to_be_found(kubeconfig: str) -> None:
    # One after the other would take long, and what one breaks does not hide another.
    report = run_chaos(kubeconfig, components_or_skip, seed=3, seconds=10, planted=PLANTED, settling_seconds=40)
    for kind in PLANTED:
        assert any(FOUND[kind] in violation for violation in report.violations), (kind, report.lines())
