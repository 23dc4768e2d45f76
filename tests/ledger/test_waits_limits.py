"""What was in force at each moment of a wait: whose limit holds for a gate, and when something was paused."""

import pytest

from bandmaster.ledger.waits.attributing import Step
from bandmaster.ledger.waits.limits import Changed, gate_steps, pauses_of, steps_of
from bandmaster.ledger.waits.spans import Span
from bandmaster.scheduler.model.auto import Auto, limit_in_force
from bandmaster.scheduler.model.limits import Limits

WAIT = Span(100, 200)
BOTH = {"executions": {"tenant:a": 5, "tenant:*": 7}, "mail": {"tenant:a": 4, "tenant:*": 9}}
OF_KIND = {"mail": {"tenant:*": 9}}


def limit(at_ms: int, before: str | None, after: str | None) -> Changed:
    return Changed(at_ms, "limit", before, after)


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ([], [Step(100, 8)]),
        ([limit(90, "1", "2")], [Step(100, 2)]),
        ([limit(90, "1", None)], [Step[int](100, None)]),
        ([limit(200, "1", "2")], [Step(100, 1)]),
        ([limit(100, "1", "2")], [Step(100, 1), Step(100, 2)]),
        ([limit(150, None, "2"), limit(170, "2", "3")], [Step[int](100, None), Step(150, 2), Step(170, 3)]),
        ([limit(150, None, "2"), limit(130, "2", "3")], [Step[int](100, None), Step(150, 2), Step(150, 3)]),
    ],
)
def test_a_limit_is_what_its_changes_tell_and_else_what_it_is_now(
    changes: list[Changed], steps: list[Step[int]]
) -> None:
    assert steps_of(changes, WAIT, 8, limit_in_force) == steps


@pytest.mark.parametrize(
    ("own", "of_kind", "declared", "holds"),
    [
        (2, 3, BOTH, 2),
        (None, 3, BOTH, 4),
        (None, 3, OF_KIND, 3),
        (None, None, OF_KIND, 9),
        (None, None, {}, None),
        (0, None, {}, 0),
    ],
)
def test_a_gate_goes_before_its_kind_and_an_operator_before_what_is_declared(
    own: int | None, of_kind: int | None, declared: dict[str, dict[str, int | Auto]], holds: int | None
) -> None:
    limits = Limits(by_operators={"tenant:a": 99}, declared=declared)
    assert gate_steps("tenant:a", [Step(100, own)], [Step(100, of_kind)], limits) == [Step(100, holds)]


def test_a_gate_of_no_kind_has_its_own_limit_alone() -> None:
    assert gate_steps("gpu", [Step(100, 1), Step(150, None)], [], Limits()) == [Step(100, 1), Step(150, None)]


def test_a_gates_limit_changes_with_its_own_and_with_its_kinds() -> None:
    own, of_kind = [Step[int](100, None), Step(150, 1)], [Step(100, 3), Step[int](120, None)]
    assert gate_steps("tenant:a", own, of_kind, Limits()) == [Step(100, 3), Step(120, None), Step(150, 1)]


@pytest.mark.parametrize(
    ("changes", "since_ms", "spans"),
    [
        ("", None, []),
        ("", 50, [Span(100, 200)]),
        ("", 150, [Span(150, 200)]),
        ("", 300, []),
        ("pause 90", 90, [Span(100, 200)]),
        ("pause 90", None, []),
        ("resume 130", None, [Span(100, 130)]),
        ("pause 110 resume 130 pause 190", 190, [Span(110, 130), Span(190, 200)]),
        ("resume 250", None, [Span(100, 200)]),
        ("pause 250", 250, []),
    ],
)
def test_a_pause_lasts_until_it_is_resumed(changes: str, since_ms: int | None, spans: list[Span]) -> None:
    words = changes.split()
    told = [Changed(int(at), verb, None, None) for verb, at in zip(words[::2], words[1::2], strict=True)]
    assert pauses_of(told, WAIT, since_ms) == spans


def test_a_limit_that_adjusts_itself_counts_by_the_number_in_force() -> None:
    wait = Span(100, 200)
    changes = [
        Changed(120, "limit", "auto(2,50), now 4", "auto(2,50), now 5: full"),
        Changed(150, "limit", "auto(2,50), now 5", "auto(2,50), now 3: 2 of 10 failed"),
        Changed(180, "limit", "auto(2,50), now 3", "7"),
    ]
    assert steps_of(changes, wait, 7, limit_in_force) == [Step(100, 4), Step(120, 5), Step(150, 3), Step(180, 7)]
