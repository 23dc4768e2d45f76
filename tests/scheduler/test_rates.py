"""Rates of gates: at most `burst + t / interval` grants in any time t, exactly, and no polling for the next."""

from typing import cast

import pytest
import redis
from defects.contrast import event
from model.dump import read_dump
from model.invariants import Invariants
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Admission
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.rates import Rate

LANE = "executions"


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """Without bounds, and with a clock that stands still."""
    queue = TurnedQueue(redis_client)
    queue.controls.change_setting("max_concurrent_executions", 100_000)
    return queue


def park(queue: TurnedQueue, *names: str, gate: str = "tenant:a") -> None:
    outcomes = queue.enqueue_many([event(name, gates=[gate]) for name in names])
    assert all(not isinstance(outcome, Exception) for outcome in outcomes)


def ask(queue: TurnedQueue, most: int = 50) -> tuple[list[str], int | None]:
    """What starts, and in how many milliseconds it is worth to ask again."""
    admission: Admission = queue.transitions.admit((LANE,), most, lease_ms=600_000, consumer=True)
    assert not admission.more
    return [grant.execution_id for grant in admission.grants], admission.wait_ms


def test_each_grant_takes_its_interval_and_the_gate_opens_at_the_right_millisecond(queue: TurnedQueue) -> None:
    queue.controls.rates.set("tenant:a", Rate.read("100/m"))
    park(queue, "a", "b", "c")
    assert ask(queue) == (["a"], 600)
    queue.clock.turn(599)
    assert ask(queue) == ([], 1)
    queue.clock.turn(1)
    assert ask(queue) == (["b"], 600)
    assert queue.explain("c").reasons[0] == "gate tenant:a has reached its rate: the next one passes in 0.6 s"


def test_a_burst_comes_at_once_and_then_one_an_interval(queue: TurnedQueue) -> None:
    queue.controls.rates.set("tenant:a", Rate.read("1/s burst 3"))
    park(queue, *(f"e{number}" for number in range(8)))
    assert ask(queue) == (["e0", "e1", "e2"], 1_000)
    queue.clock.turn(1_500)
    assert ask(queue) == (["e3"], 500)
    queue.clock.turn(60_000)
    assert ask(queue)[0] == ["e4", "e5", "e6"], "a long rest earns no more than a burst"


def test_no_window_has_more_than_its_bound(queue: TurnedQueue) -> None:
    rate = Rate.read("7/s burst 4")
    queue.controls.rates.set("tenant:*", rate)
    park(queue, *(f"e{number}" for number in range(120)))
    granted: list[int] = []
    for step in (1, 2, 50, 143, 3, 700, 10, 140, 142, 1, 1_000, 5) * 6:
        queue.clock.turn(step)
        granted += [queue.clock.now_ms] * len(ask(queue)[0])
    assert len(granted) > 60
    for first, begin in enumerate(granted):
        for last, end in enumerate(granted[first:], first):
            assert last - first + 1 <= rate.burst + (end - begin) / rate.interval_ms + 0.001


def test_what_the_rate_holds_back_holds_back_nobody_else_and_order_holds(queue: TurnedQueue) -> None:
    queue.controls.rates.set("tenant:a", Rate.read("1/s"))
    park(queue, "a1", "a2")
    park(queue, "b1", gate="tenant:b")
    assert ask(queue)[0] == ["a1", "b1"]
    queue.enqueue(event("urgent", gates=["tenant:a"], priority="CRITICAL"))
    queue.clock.turn(1_000)
    assert ask(queue)[0] == ["urgent"]


def test_a_retry_counts_and_a_limit_holds_beside_the_rate(queue: TurnedQueue) -> None:
    queue.controls.rates.set("tenant:a", Rate.read("1/s"))
    queue.controls.set_limit("tenant:a", 1)
    park(queue, "a", "b")
    assert ask(queue)[0] == ["a"]
    queue.clock.turn(5_000)
    assert ask(queue)[0] == [], "the limit"
    queue.release("a")
    assert ask(queue)[0] == ["b"]
    queue.release("b")
    park(queue, "c")
    assert ask(queue) == ([], 1_000), "the rate"


def test_a_changed_rate_counts_what_passed_and_a_lifted_one_lets_all_pass(queue: TurnedQueue) -> None:
    queue.controls.rates.set("tenant:*", Rate.read("1/h"))
    park(queue, "a1", "a2", "a3")
    park(queue, "b1", "b2", gate="tenant:b")
    assert ask(queue)[0] == ["a1", "b1"]
    queue.controls.rates.set("tenant:*", Rate.read("1/s"))
    assert ask(queue) == ([], 1_000), "a time farther ahead than the new rate allows is brought near"
    queue.clock.turn(1_000)
    assert ask(queue)[0] == ["a2", "b2"]
    queue.controls.rates.set("tenant:*", None)
    assert ask(queue)[0] == ["a3"]


def test_a_gates_own_goes_before_its_kinds_and_an_operators_before_a_declared_one(queue: TurnedQueue) -> None:
    rates = queue.controls.rates
    rates.declare(
        {LANE: {"tenant:*": Rate.read("1/m"), "tenant:b": Rate.read("2/m")}, "mail": {"tenant:*": Rate.read("1/h")}}
    )
    assert {name: str(each.rate) for name, each in rates.all().items()} == {"tenant:*": "1/h", "tenant:b": "2/m"}
    park(queue, "a1", "a2")
    park(queue, "b1", "b2", gate="tenant:b")
    assert ask(queue) == (["a1", "b1"], 30_000)
    rates.set("tenant:b", Rate.read("1/s"))
    rates.declare({"mail": {}})
    assert ask(queue) == ([], 1_000)
    assert {name: each.is_declared for name, each in rates.all().items()} == {"tenant:*": True, "tenant:b": False}


def test_a_clock_that_is_set_back_keeps_nobody_waiting_for_longer_than_the_rate_takes(queue: TurnedQueue) -> None:
    queue.controls.rates.set("tenant:a", Rate.read("1/s"))
    park(queue, "a", "b")
    assert ask(queue)[0] == ["a"]
    queue.clock.turn(-3_600_000)
    assert ask(queue) == ([], 1_000)
    queue.clock.turn(1_000)
    assert ask(queue)[0] == ["b"]


def test_a_rate_is_set_by_a_text_too(queue: TurnedQueue) -> None:
    rates = queue.controls.rates
    rates.set("tenant:a", "100/m burst 5")
    assert rates.by_whom().by_operators == {"tenant:a": Rate(count=100, window_ms=60_000, burst=5)}
    with pytest.raises(InvalidRequest, match="rate: 'fast' is not a rate; allowed: N/TIME like 100/m"):
        rates.set("tenant:a", "fast")
    with pytest.raises(InvalidRequest, match="rate: 5 is not a rate"):
        rates.set("tenant:a", cast("str", 5))


def test_nothing_is_left_behind(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    queue.controls.rates.set("tenant:a", Rate.read("1/s"))
    park(queue, "a", "b")
    ask(queue)
    Invariants().check(read_dump(redis_client, queue.scripts.keys))
    queue.controls.rates.set("tenant:a", None)
    for name in ("a", *ask(queue)[0]):
        queue.release(name)
    keys = queue.scripts.keys
    assert redis_client.exists(keys.named("later"), keys.later(LANE), keys.named("rates")) == 0
    assert redis_client.hexists(keys.named("settings"), "rated") is False


NO_RATES = (
    "",
    "5",
    "0/s",
    "5/w",
    "1/0s",
    "-1/s",
    "5/s burst 0",
    "5/s burst",
    "1/9999d",
    5,
    None,
)


def test_what_is_no_rate_is_refused(subtests: pytest.Subtests) -> None:
    for text in NO_RATES:
        with subtests.test(text=text), pytest.raises(InvalidRequest, match=r"rate|burst"):
            Rate.read(text)


RATES = (
    "100/m",
    "1/10s",
    "5/s",
    "7/s burst 4",
    "1/90s",
    "3/700ms",
    "1000/h",
    "1/1d",
    "13/d",
)


def test_a_rate_is_kept_as_it_was_written(subtests: pytest.Subtests) -> None:
    for text in RATES:
        with subtests.test(text=text):
            rate = Rate.read(text)
            assert Rate.from_stored(rate.stored()) == Rate.read(str(rate)) == rate
