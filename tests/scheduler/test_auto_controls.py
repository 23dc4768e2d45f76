"""Limits that adjust themselves as operators set them and actors declare them, and what faults do to them."""

import pytest
import redis
from auto_gate import GATE, LANE, WINDOW_MS, AutoGate
from defects.contrast import event
from model.dump import read_dump
from model.invariants import Invariants
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Code, read_exchange
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.auto import Adjusted, Auto, limit_in_force
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.limits import Holding
from bandmaster.scheduler.model.states import State

FIGURES = "exec_queue:auto_limits"


@pytest.fixture
def gate(redis_client: redis.Redis) -> AutoGate:
    return AutoGate(redis_client)


def holding(gate: AutoGate) -> Holding | None:
    return gate.queue.controls.all_limits().named(GATE)


def test_a_number_ends_it_and_so_does_lifting_it(gate: AutoGate, redis_client: redis.Redis) -> None:
    assert gate.window() == 3
    assert holding(gate) == Holding(GATE, 3, is_declared=False, auto=Auto(2, 50))
    gate.queue.controls.set_limit(GATE, 7)
    assert holding(gate) == Holding(GATE, 7, is_declared=False)
    assert not redis_client.exists(FIGURES)
    gate.queue.controls.set_limit(GATE, Auto(2, 50))
    gate.queue.controls.set_limit(GATE, None)
    assert holding(gate) is None
    assert not redis_client.exists(FIGURES)
    assert [after for _, after, _ in gate.told()] == [
        *("auto(2,50), now 2", "auto(2,50), now 3: full", "7", "auto(2,50), now 7", ""),
    ]


def test_an_end_after_an_operators_number_changes_it_no_more(gate: AutoGate) -> None:
    gate.send(100)
    gate.start()
    gate.queue.clock.turn(WINDOW_MS)
    for _ in range(9):
        gate.end()
        gate.start()
    gate.queue.controls.set_limit(GATE, 2)
    for _ in range(40):
        gate.queue.clock.turn(WINDOW_MS)
        gate.end(State.FAILED)
        gate.start()
    assert gate.limit == 2


def test_the_same_bounds_again_leave_it_as_it_is_and_others_begin_with_its_number(gate: AutoGate) -> None:
    assert [gate.window() for _ in range(4)] == [3, 4, 5, 6]
    told = gate.told()
    gate.queue.controls.set_limit(GATE, Auto(2, 50))
    assert (gate.limit, gate.told()) == (6, told)
    gate.queue.controls.set_limit(GATE, Auto(2, 5))
    assert gate.limit == 5
    assert gate.told()[-1][:2] == ("auto(2,50), now 6", "auto(2,5), now 5")
    gate.queue.controls.set_limit(GATE, Auto(2, 5, start=3))
    assert gate.limit == 3
    assert gate.told()[-1][:2] == ("auto(2,5), now 5", "auto(2,5), now 3")


def test_adjustments_do_not_drive_operators_changes_out(gate: AutoGate) -> None:
    gate.window()
    assert [(each.after, each.by == "auto") for each in gate.queue.journal.changes() if each.verb == "limit"] == [
        ("auto(2,50), now 2", False)
    ]
    assert [by for _, _, by in gate.told()][-1] == "auto"


def test_a_declared_one_adjusts_itself_where_no_operator_set_a_limit(redis_client: redis.Redis) -> None:
    gate = AutoGate(redis_client)
    controls = gate.queue.controls
    controls.set_limit(GATE, None)
    controls.declare_limits({LANE: {GATE: Auto(3, 9), "tenant:*": 4}})
    assert controls.all_limits().declared == {LANE: {GATE: Auto(3, 9), "tenant:*": 4}}
    assert holding(gate) == Holding(GATE, 3, is_declared=True, auto=Auto(3, 9))
    assert gate.start() == 0
    gate.send(300)
    assert gate.start() == 3

    def windows(number: int) -> list[int | None]:
        found: list[int | None] = []
        for _ in range(number):
            began = gate.began_at
            while gate.began_at == began:
                gate.start()
                gate.queue.clock.turn(WINDOW_MS)
                for _ in range(len(gate.running)):
                    gate.end()
            limited = holding(gate)
            found.append(limited and limited.limit)
        return found

    assert windows(2) == [4, 5]
    assert gate.told()[-1] == ("auto(3,9), now 4, declared", "auto(3,9), now 5, declared: full", "auto")
    assert gate.start() == 5
    controls.declare_limits({LANE: {GATE: Auto(3, 9), "tenant:*": 5}})
    assert windows(1) == [6], "what is declared again as it was goes on"
    controls.declare_limits({LANE: {GATE: Auto(3, 5)}})
    assert holding(gate) == Holding(GATE, 5, is_declared=True, auto=Auto(3, 5))
    controls.set_limit(GATE, 1)
    assert holding(gate) == Holding(GATE, 1, is_declared=False)
    assert gate.queue.controls.all_limits().adjusted == {}
    controls.set_limit(GATE, None)
    assert holding(gate) == Holding(GATE, 3, is_declared=True, auto=Auto(3, 5))
    Invariants().check(read_dump(redis_client, gate.queue.scripts.keys))
    controls.declare_limits({LANE: {}})
    assert holding(gate) is None
    assert not redis_client.exists(FIGURES)


def test_of_several_lanes_declarations_the_one_that_lets_less_through_holds(gate: AutoGate) -> None:
    controls = gate.queue.controls
    controls.set_limit(GATE, None)
    for other, lowest in (
        (Auto(2, 8), Holding(GATE, 2, is_declared=True, auto=Auto(2, 8))),
        (9, Holding(GATE, 4, is_declared=True, auto=Auto(4, 9))),
        (8, Holding(GATE, 8, is_declared=True)),
        (Auto(5, 9), Holding(GATE, 4, is_declared=True, auto=Auto(4, 9))),
    ):
        controls.declare_limits({LANE: {GATE: Auto(4, 9)}, "mail": {GATE: other}})
        assert holding(gate) == lowest
        gate.send(30)
        assert gate.start() == lowest.limit, "Redis has the same"
        for _ in range(len(gate.running)):
            gate.end()


def test_a_kind_cannot_adjust_itself(gate: AutoGate) -> None:
    controls = gate.queue.controls
    with pytest.raises(InvalidRequest, match=r"auto\(2,50\) for tenant:\*, which is a kind; allowed: a number"):
        controls.set_limit("tenant:*", Auto(2, 50))
    with pytest.raises(InvalidRequest, match="which is a kind"):
        controls.declare_limits({LANE: {"tenant:*": Auto(2, 50)}})


NO_LIMITS = (
    "auto(0,5)",
    "auto(5,5)",
    "auto(6,5)",
    "auto(2,9000000)",
    "auto(2)",
    "auto",
    "auto(a,b)",
)


def test_what_is_no_such_limit_is_refused(subtests: pytest.Subtests) -> None:
    for text in NO_LIMITS:
        says = r"limit: .* allowed: auto\(LEAST,MOST\) like auto\(2,50\)"
        with subtests.test(text=text), pytest.raises(InvalidRequest, match=says):
            Auto.read(text)


def test_a_limit_of_the_journal_is_read_again() -> None:
    assert str(Auto.read("auto(2, 50)")) == "auto(2,50)"
    assert Adjusted.from_journal("auto(2,50), now 12: 3 of 20 failed") == Adjusted(Auto(2, 50), 12, is_declared=False)
    assert Adjusted.from_journal("auto(2,50), now 12, declared") == Adjusted(Auto(2, 50), 12, is_declared=True)
    assert Adjusted.from_journal("12") is None
    assert [limit_in_force(text) for text in ("auto(2,50), now 12: full", "12", "1e3")] == [12, 12, 1000]


def test_a_repeated_end_counts_once(gate: AutoGate) -> None:
    gate.send(100)
    gate.start()
    gate.queue.clock.turn(WINDOW_MS)
    for _ in range(9):
        name, attempt = next(iter(gate.running.items()))
        del gate.running[name]
        call = gate.queue.transitions.prepare_exchange([Release(name, attempt, State.COMPLETED)])
        assert call.run() == call.run()
        gate.start()
    assert gate.limit == 2
    gate.end()
    assert gate.limit == 3


def test_a_clock_that_is_set_back_stops_it_for_no_longer_than_a_window(gate: AutoGate) -> None:
    assert [gate.window() for _ in range(4)] == [3, 4, 5, 6]
    assert gate.window(failures=9) == 4
    gate.send(100)
    gate.start()
    gate.queue.clock.turn(-3_600_000)
    for _ in range(len(gate.running)):
        gate.end()
    assert gate.window() == 5
    assert gate.window(failures=9) == 3


def test_lost_settings_change_nothing(gate: AutoGate, redis_client: redis.Redis) -> None:
    assert gate.window() == 3
    redis_client.delete("exec_queue:settings")
    gate.queue.controls.change_setting("max_concurrent_executions", 10**9)
    assert gate.window() == 4
    Invariants().check(read_dump(redis_client, gate.queue.scripts.keys))


@pytest.mark.parametrize("damage", ["lost", "of another shape", "no numbers"])
def test_lost_or_damaged_figures_leave_the_limit_as_it_is(
    damage: str, gate: AutoGate, redis_client: redis.Redis
) -> None:
    assert gate.window() == 3
    if damage == "lost":
        redis_client.delete(FIGURES)
    else:
        redis_client.hset(FIGURES, GATE, "1 2 3" if damage == "of another shape" else "a b c d e f g h i j k l m n")
    gate.send(100)
    gate.start()
    for _ in range(30):
        gate.queue.clock.turn(WINDOW_MS)
        gate.end()
        gate.start()
    assert (gate.limit, len(gate.running)) == (3, 3)
    assert holding(gate) == Holding(GATE, 3, is_declared=False)


def test_figures_of_a_wrong_type_hinder_no_end(redis_client: redis.Redis) -> None:
    gate = AutoGate(redis_client)
    gate.send(3)
    gate.start()
    redis_client.delete(FIGURES)
    redis_client.set(FIGURES, "x")
    name, attempt = next(iter(gate.running.items()))
    call = gate.queue.transitions.prepare_exchange([Release(name, attempt, State.COMPLETED)])
    done = read_exchange(call.run())
    assert done.outcomes[0].code is Code.OK
    assert list(done.failures) == [name]


def test_a_number_written_by_hand_is_brought_within_the_bounds(gate: AutoGate, redis_client: redis.Redis) -> None:
    redis_client.hset("exec_queue:limits", GATE, 90)
    gate.send(3)
    gate.start()
    gate.end()
    assert gate.limit == 50


def test_ends_at_other_gates_cost_no_command_more(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)

    def commands(name: str) -> int:
        queue.enqueue(event(name, gates=["plain"]))
        queue.transitions.admit((LANE,), 1, lease_ms=10**9)
        redis_client.config_resetstat()
        queue.release(name)
        return sum(each["calls"] for each in redis_client.info("commandstats").values())  # type: ignore[union-attr]

    found: list[int] = []
    for kind, limit in (("number", 2), ("auto", Auto(2, 50))):
        queue.controls.set_limit(GATE, limit)
        commands(f"{kind}-1")  # the first call since reads the settings again
        found.append(commands(f"{kind}-2"))
    assert found[0] == found[1]
