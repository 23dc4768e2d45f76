"""What watches over a chaos run finds what must not be; without a cluster, all of it planted."""

import pytest
from chaos_rules import Attempt, Rules

from bandmaster.scheduler.engine.journal import JournalEntry

HELD = {"state": "POD", "attempt": "1"}


@pytest.fixture
def rules() -> Rules:
    """Of two slots."""
    return Rules(2)


def found(rules: Rules) -> str:
    return "\n".join(rules.violations)


def lost(verb: str, execution_id: str, state: str, attempt: int = 1) -> JournalEntry:
    return JournalEntry("1-0", verb, execution_id, 0, {"state": state, "attempt": str(attempt)})


def test_what_may_be_is_no_violation(rules: Rules) -> None:
    both = {Attempt("a", 1), Attempt("b", 1)}
    rules.see_programs(both)
    rules.see_holders(both, {"a": HELD, "b": HELD | {"state": "CANCELLING"}})
    for _ in range(2):
        rules.see_pods([(Attempt("a", 1), "uid-1"), (Attempt("a", 2), "uid-2")])
        rules.see_states({"a": {"state": "FAILED"}, "b": {"state": "POD"}})
    rules.see_states({"b": {"state": "COMPLETED"}})
    assert not found(rules)
    assert rules.most_programs == 2


def test_more_programs_than_slots(rules: Rules) -> None:
    rules.see_programs({Attempt(name, 1) for name in "abc"})
    assert found(rules) == "3 programs at once in 2 slots"


def test_two_attempts_of_one_execution_at_once(rules: Rules) -> None:
    rules.see_programs({Attempt("a", 1), Attempt("a", 2)})
    assert found(rules) == "a: attempts [1, 2] run at the same time"


@pytest.mark.parametrize("meta", [{}, {"state": "COMPLETED", "attempt": "1"}, {"state": "POD", "attempt": "2"}])
def test_a_program_whose_slot_was_given_back(rules: Rules, meta: dict[str, str]) -> None:
    rules.see_holders({Attempt("a", 1)}, {"a": meta})
    assert "attempt 1 runs, and its slot was given back" in found(rules)


def test_a_second_pod_of_one_attempt(rules: Rules) -> None:
    rules.see_pods([(Attempt("a", 1), "uid-1")])
    rules.see_pods([(Attempt("a", 1), "uid-2")])
    assert found(rules) == "a: attempt 1 has had a second pod"


@pytest.mark.parametrize("then", [{}, {"state": "COMPLETED"}, {"state": "PENDING"}])
def test_an_end_that_is_another_later(rules: Rules, then: dict[str, str]) -> None:
    rules.see_states({"a": {"state": "FAILED"}})
    rules.see_states({"a": then})
    assert "a ended as FAILED and is" in found(rules)


def test_what_a_restored_server_forgot_is_forgiven_and_nothing_else(rules: Rules) -> None:
    rules.see_pods([(Attempt("a", 1), "uid-1")])
    rules.see_states({"a": {"state": "FAILED"}, "b": {"state": "FAILED"}})
    rules.restored([lost("admit", "a", "RUNNING"), lost("release", "a", "FAILED")])
    rules.see_programs({Attempt(name, 1) for name in "abc"})
    rules.see_holders({Attempt("a", 1)}, {"a": {"state": "PENDING"}})
    rules.see_pods([(Attempt("a", 1), "uid-2")])
    rules.see_states({"a": {"state": "POD"}})
    assert not found(rules)
    rules.see_states({"b": {"state": "POD"}})
    rules.see_programs({Attempt(name, 1) for name in "abcd"})
    assert len(rules.violations) == 2
