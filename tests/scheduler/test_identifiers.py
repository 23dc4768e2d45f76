"""Names at the border: what is let in, and how a refusal reads."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandmaster.scheduler.model.errors import InvalidRequest, shown
from bandmaster.scheduler.model.identifiers import (
    check_action,
    check_execution_id,
    check_gate_key,
    check_lane,
    check_user_id,
    new_execution_id,
)

CHECKS: list[Callable[[object], str]] = [check_action, check_execution_id, check_gate_key, check_lane, check_user_id]

ACCEPTED: list[tuple[Callable[[object], str], str]] = [
    (check_execution_id, "a"),
    (check_execution_id, "0191-A_b.c" + "x" * 118),
    (check_execution_id, "shop:order:7"),
    (check_execution_id, "..a"),
    (check_lane, "_x"),
    (check_lane, "executions.high-1"),
    (check_action, "core.http.get"),
    (check_action, "0"),
    (check_action, "shop:send%20mail"),
    (check_gate_key, "action:core.http.get"),
    (check_gate_key, "tenant:Ü/42#é"),
    (check_gate_key, "x" * 200),
    (check_gate_key, "tenant:Acme Corp"),
    (check_user_id, "ann@example.org"),
    (check_user_id, "Ann O'Neill"),
    (check_user_id, "李" * 128),
]

REFUSED: list[tuple[Callable[[object], str], object]] = [
    *(
        (check, value)
        for check in CHECKS
        for value in ("", None, 5, b"a", ["a"], "a\n", "a\x00", "a\x1b[31m", "\ud800", "x" * 201)
    ),
    *((check, "a b") for check in CHECKS if check not in (check_user_id, check_gate_key)),
    (check_gate_key, " "),
    *((check, "ä") for check in (check_action, check_execution_id, check_lane)),
    *((check, "x" * 129) for check in (check_action, check_execution_id, check_lane, check_user_id)),
    (check_execution_id, "a/b"),
    *((check_execution_id, "." * count) for count in (1, 2, 128)),
    (check_lane, "1st"),
    (check_lane, ".x"),
    (check_gate_key, "a\u00a0b"),
    (check_gate_key, "a\u2028b"),
    (check_user_id, "   "),
    (check_user_id, "a\u202eb"),
]


def test_an_allowed_name_is_returned_as_it_is(subtests: pytest.Subtests) -> None:
    for check, value in ACCEPTED:
        with subtests.test(check=check, value=value):
            assert check(value) == value


def test_another_is_refused_on_one_printable_line_that_says_what_is_allowed(subtests: pytest.Subtests) -> None:
    for check, value in REFUSED:
        with subtests.test(check=check, value=value):
            with pytest.raises(InvalidRequest) as caught:
                check(value)
            message = str(caught.value)
            assert message.isprintable()
            assert "allowed: 1 to" in message
            assert shown(value) in message
            assert len(message) < 400


@given(st.text(max_size=300))
def test_every_text_is_either_returned_or_refused(text: str) -> None:
    for check in CHECKS:
        try:
            taken = check(text)
        except InvalidRequest:
            continue
        assert taken == text
        assert text.strip()
        assert text.isprintable()


def test_new_ids_are_allowed_distinct_and_rise() -> None:
    ids = [new_execution_id() for _ in range(1000)]
    assert all(check_execution_id(one) for one in ids)
    assert ids == sorted(set(ids))
    assert all(one[14] == "7" for one in ids)
