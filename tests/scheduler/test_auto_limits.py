"""Limits that adjust themselves: what raises them, what lowers them, what does not count; never beyond their bounds."""

import pytest
import redis
from auto_gate import GATE, LANE, WINDOW_MS, AutoGate
from model.dump import read_dump
from model.invariants import Invariants

from bandmaster.scheduler.engine.settlements import Release, Retry
from bandmaster.scheduler.engine.transitions import Next
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.states import State


@pytest.fixture
def gate(redis_client: redis.Redis) -> AutoGate:
    return AutoGate(redis_client)


def test_it_begins_with_the_limit_before_within_its_bounds_or_with_its_least(redis_client: redis.Redis) -> None:
    gate = AutoGate(redis_client)
    controls = gate.queue.controls
    assert gate.limit == 2
    for before, begins in ((7, 7), (1, 2), (90, 50)):
        controls.set_limit(GATE, before)
        controls.set_limit(GATE, Auto(2, 50))
        assert gate.limit == begins
    controls.set_limit("tenant:*", 9)
    controls.set_limit("tenant:a", Auto(2, 50))
    assert controls.limits()["tenant:a"] == 9


def test_a_full_gate_with_work_waiting_rises_by_one_a_window_up_to_its_most(redis_client: redis.Redis) -> None:
    gate = AutoGate(redis_client, 2, 5)
    assert [gate.window() for _ in range(5)] == [3, 4, 5, 5, 5]
    assert gate.told()[1:] == [
        ("auto(2,5), now 2", "auto(2,5), now 3: full", "auto"),
        ("auto(2,5), now 3", "auto(2,5), now 4: full", "auto"),
        ("auto(2,5), now 4", "auto(2,5), now 5: full", "auto"),
    ]


def test_what_waits_starts_in_the_call_that_raises_it(gate: AutoGate) -> None:
    gate.send(100)
    assert gate.start() == 2
    following = Next((LANE,), 50, 10**9)
    granted: list[int] = []
    for _ in range(10):
        gate.queue.clock.turn(WINDOW_MS)
        granted.append(gate.end(following=following))
    assert granted == [1] * 9 + [2]
    assert gate.limit == len(gate.running) == 3


def test_a_gate_that_is_not_full_stays(gate: AutoGate) -> None:
    for _ in range(40):
        gate.send(1)
        assert gate.start() == 1
        gate.queue.clock.turn(WINDOW_MS)
        gate.end()
    assert gate.limit == 2


def test_a_full_gate_behind_which_nobody_waits_stays(gate: AutoGate) -> None:
    for _ in range(40):
        gate.send(2 - len(gate.running))
        assert gate.start() == 2
        gate.queue.clock.turn(WINDOW_MS)
        gate.end()
    assert gate.limit == 2


def test_no_window_is_shorter_than_a_second(gate: AutoGate) -> None:
    gate.send(50)
    for _ in range(40):
        gate.start()
        gate.queue.clock.turn(10)
        gate.end()
    assert gate.limit == 2


def test_failures_lower_it_once_and_those_that_began_before_do_not_again(gate: AutoGate) -> None:
    gate.queue.controls.set_limit(GATE, 20)
    gate.queue.controls.set_limit(GATE, Auto(2, 50))
    gate.send(100)
    assert gate.start() == 20
    gate.queue.clock.turn(WINDOW_MS)
    for number in range(20):
        gate.end(State.FAILED if number < 3 else State.COMPLETED)
        if number < 19:
            gate.start()
    assert gate.limit == 14
    assert gate.told()[-1] == ("auto(2,50), now 20", "auto(2,50), now 14: 3 of 20 failed", "auto")
    # They were granted under the limit of 20, beside those that failed.
    assert len(gate.running) == 19
    gate.queue.clock.turn(WINDOW_MS)
    for _ in range(19):
        gate.end(State.FAILED)
    assert gate.limit == 14
    assert gate.start() == 14


def test_it_falls_to_its_least_and_climbs_again_when_failures_stop(gate: AutoGate) -> None:
    gate.queue.controls.set_limit(GATE, 20)
    gate.queue.controls.set_limit(GATE, Auto(3, 50))
    assert [gate.window(failures=9) for _ in range(8)] == [14, 9, 6, 4, 3, 3, 3, 3]
    assert [gate.window() for _ in range(3)] == [4, 5, 6]


@pytest.mark.parametrize(("failures", "after"), [(0, 21), (1, 21), (2, 20), (3, 14)])
def test_few_failures_raise_it_some_leave_it_many_lower_it(gate: AutoGate, failures: int, after: int) -> None:
    gate.queue.controls.set_limit(GATE, 20)
    gate.queue.controls.set_limit(GATE, Auto(2, 50))
    gate.send(100)
    gate.start()
    assert gate.window(failures=failures) == after


def test_a_run_time_of_more_than_twice_the_usual_lowers_it(gate: AutoGate) -> None:
    gate.queue.controls.set_limit(GATE, 10)
    gate.queue.controls.set_limit(GATE, Auto(2, 12))
    assert [gate.window(1_000) for _ in range(3)] == [11, 12, 12]
    assert gate.window(1_400) == 12
    assert gate.window(2_500) == 8
    assert gate.told()[-1][1] == "auto(2,12), now 8: run time 2.5 times the usual"


def test_a_run_time_of_half_as_much_again_keeps_it_from_rising(gate: AutoGate) -> None:
    assert gate.window(1_000) == 3
    assert [gate.window(1_700) for _ in range(3)] == [3, 3, 3]
    assert gate.window(1_000) == 4


def test_where_a_lower_limit_makes_it_no_faster_slow_is_usual_and_it_climbs_again(gate: AutoGate) -> None:
    gate.queue.controls.set_limit(GATE, 20)
    gate.queue.controls.set_limit(GATE, Auto(2, 50))
    gate.send(100)
    gate.start()
    assert [gate.window(1_000), gate.window(5_000)] == [21, 14]
    assert [gate.window(5_000) for _ in range(3)] == [15, 16, 17]


def test_where_it_makes_it_faster_it_goes_on_down(gate: AutoGate) -> None:
    gate.queue.controls.set_limit(GATE, 20)
    gate.queue.controls.set_limit(GATE, Auto(2, 50))
    gate.send(100)
    gate.start()
    assert [gate.window(1_000), gate.window(8_000), gate.window(5_600), gate.window(3_900)] == [21, 14, 9, 6]


def test_what_is_slow_at_its_least_is_usual(gate: AutoGate) -> None:
    assert gate.window(1_000) == 3
    assert gate.window(9_000) == 2
    assert [gate.window(9_000) for _ in range(3)] == [3, 4, 5]


@pytest.mark.slow
def test_milliseconds_are_no_multiple(gate: AutoGate) -> None:
    gate.queue.controls.set_limit(GATE, 10)
    gate.queue.controls.set_limit(GATE, Auto(2, 50))
    gate.send(10_000)
    for run_ms in (1, 9) * 4:
        for _ in range(120):
            gate.start()
            gate.queue.clock.turn(run_ms)
            for _ in range(len(gate.running)):
                gate.end()
    assert all("full" in after for _, after, by in gate.told() if by == "auto")


@pytest.mark.parametrize("reason", ["requeued", "Retry", "Shutdown"])
def test_what_the_body_asks_for_and_what_its_worker_stops_is_no_failure(gate: AutoGate, reason: str) -> None:
    gate.send(100)
    for _ in range(40):
        gate.start()
        gate.queue.clock.turn(WINDOW_MS)
        gate.fail_and_try_again(reason)
    assert gate.limit == 2


def test_a_try_that_raised_is_one(gate: AutoGate) -> None:
    assert [gate.window() for _ in range(4)] == [3, 4, 5, 6]
    for _ in range(10):
        gate.start()
        gate.queue.clock.turn(WINDOW_MS)
        gate.fail_and_try_again()
    assert gate.limit == 4


def test_lost_cancelled_skipped_and_handed_back_attempts_do_not_count(gate: AutoGate) -> None:
    queue = gate.queue
    assert [gate.window() for _ in range(4)] == [3, 4, 5, 6]
    gate.send(200)
    for number in range(60):
        gate.start()
        queue.clock.turn(WINDOW_MS)
        name, attempt = next(iter(gate.running.items()))
        del gate.running[name]
        match number % 6:
            case 0:
                queue.transitions.settle(Retry(name, attempt, "hand_back", delay_ms=10**8))
            case 1:
                queue.transitions.settle(Retry(name, attempt, "infrastructure", delay_ms=10**8))
            case 2:
                queue.transitions.settle(Retry(name, attempt, "retry", delay_ms=10**8, reason="lease_lost"))
            case 3:
                queue.cancel(name)
                queue.transitions.settle(Release(name, attempt, State.FAILED))
            case 4:
                queue.transitions.settle(Release(name, attempt, State.COMPLETED, reason="skipped"))
            case _:
                queue.remove(name)
    assert gate.limit == 6
    queue.maintenance.reap()
    assert gate.limit == 6


def test_a_timeout_is_a_failure_though_it_is_asked_for(gate: AutoGate) -> None:
    assert [gate.window() for _ in range(4)] == [3, 4, 5, 6]
    for _ in range(10):
        gate.start()
        gate.queue.clock.turn(WINDOW_MS)
        name, attempt = next(iter(gate.running.items()))
        gate.queue.transitions.hand_over(name, attempt, "a-pod", f"uid-{name}")
        gate.queue.transitions.cancel(name, outcome=State.TIMEOUT, by="")
        gate.end(State.FAILED)
    assert gate.limit == 4


def test_the_state_is_sound_after_all_of_it(gate: AutoGate, redis_client: redis.Redis) -> None:
    for failures in (0, 0, 9, 0, 3, 0):
        gate.window(failures=failures)
    Invariants().check(read_dump(redis_client, gate.queue.scripts.keys))
