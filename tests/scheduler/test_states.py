"""The state machine's table hangs together, and the scripts' lists of states are those of the table."""

import re

from model.moves import TRANSITIONS, may_become

from bandmaster.scheduler.model.states import HOLDING, TERMINAL, WAITING, State
from bandmaster.scheduler.transport.library import read_lua


def test_every_state_either_waits_or_holds_a_slot_or_has_ended() -> None:
    assert set(State) == WAITING | HOLDING | TERMINAL
    assert len(WAITING) + len(HOLDING) + len(TERMINAL) == len(State)


def test_the_table_names_every_state() -> None:
    assert set(TRANSITIONS) == set(State)


def test_terminal_states_never_change() -> None:
    assert {state for state in State if not TRANSITIONS[state]} == TERMINAL


def test_every_state_can_be_reached_and_every_execution_can_end() -> None:
    reached = {State.SCHEDULED, State.PENDING}
    while more := {then for now in reached for then in TRANSITIONS[now]} - reached:
        reached |= more
    assert reached == set(State)
    for state in State:
        assert state in TERMINAL or TRANSITIONS[state] & TERMINAL


def test_a_slot_is_entered_only_by_admission() -> None:
    for now in WAITING:
        assert TRANSITIONS[now] & HOLDING <= {State.RUNNING}
    assert not may_become(State.SCHEDULED, State.RUNNING)


def test_a_pod_is_entered_only_under_a_grant() -> None:
    assert {now for now in State if may_become(now, State.POD)} == {State.RUNNING}


def test_the_value_is_the_name() -> None:
    assert [state.value for state in State] == [state.name for state in State]


def test_the_scripts_lists_are_those_of_the_table() -> None:
    def listed(path: str, name: str) -> set[State]:
        (found,) = re.findall(rf"^local {name} = \{{(.*)\}}$", read_lua(path), re.MULTILINE)
        return {State(each) for each in re.findall(r"(\w+) = true", found)}

    assert listed("include/journal.lua", "LIVING") == WAITING | HOLDING
    assert listed("exchange.lua", "HOLDING") == HOLDING
