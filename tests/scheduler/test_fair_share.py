"""Fair lanes: keys with work take turns by weight, however many executions each of them sends.

`test_fair_histories.py` checks the promise on random histories; the naive model of `tests/model` plays fair lanes
beside all other rules.
"""

from typing import Any, cast

import pytest
import redis
from fair_lane import LANE, named, queue, send, take
from turned_queue import TurnedQueue

from bandmaster.scheduler.ages import Ages
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State

__all__ = ["queue"]

DAY_SECONDS = 86_400
MANY = 300
CLOSED = "tenant:closed"


def test_one_of_a_user_does_not_wait_behind_the_many_of_another(queue: TurnedQueue) -> None:
    send(queue, named("ann", MANY), "ann")
    queue.clock.turn(60_000)
    send(queue, ["bob-0"], "bob")
    assert queue.explain("bob-0").position == 1
    assert take(queue, 3) == ["ann-0", "bob-0", "ann-1"]


def test_a_lane_is_strict_unless_somebody_makes_it_fair(queue: TurnedQueue) -> None:
    queue.transitions.park_many([Candidate(f"ann-{n}", "others", 2, "send_mail", "ann", event=b"x") for n in range(3)])
    queue.transitions.park(Candidate("bob-0", "others", 2, "send_mail", "bob", event=b"x"))
    assert take(queue, 4, "others") == ["ann-0", "ann-1", "ann-2", "bob-0"]
    assert queue.shares.kind_of(LANE) == "user"
    assert queue.shares.kind_of("others") is None


def test_keys_take_turns_by_weight_first_in_first_out_each(queue: TurnedQueue) -> None:
    queue.shares.weigh("user:bob", 3)
    send(queue, named("ann", MANY), "ann")
    send(queue, named("bob", MANY), "bob")
    taken = [name for _ in range(8) for name in take(queue, 10)]
    assert [name for name in taken if name.startswith("ann")] == named("ann", 20)
    assert [name for name in taken if name.startswith("bob")] == named("bob", 60)


def test_who_sends_one_at_a_time_gets_no_more_than_its_share(queue: TurnedQueue) -> None:
    """With the last waiting tag alone, each new one would begin at the front again."""
    send(queue, named("ann", MANY), "ann")
    sent = 0
    taken: list[str] = []
    while len(taken) < 200:
        if queue.views.queued_of(LANE, ["bob"]) == [0]:
            send(queue, [f"bob-{sent}"], "bob")
            sent += 1
        taken += take(queue)
    assert sum(name.startswith("bob") for name in taken) in (100, 101)


def test_bands_go_before_shares(queue: TurnedQueue) -> None:
    send(queue, named("ann", 3), "ann", Priority.LOW)
    send(queue, named("bob", 3), "bob", Priority.HIGH)
    assert take(queue, 6) == [*named("bob", 3), *named("ann", 3)]
    assert queue.views.status().pending_by_priority["LOW"] == 0


def test_what_is_cancelled_costs_its_user_nothing_once_nothing_of_it_waits(queue: TurnedQueue) -> None:
    send(queue, named("ann", MANY), "ann")
    send(queue, named("bob", 100), "bob")
    for name in named("bob", 100):
        queue.cancel(name)
    send(queue, ["bob-again"], "bob")
    assert queue.explain("bob-again").position == 1


def test_a_retry_keeps_its_place_and_what_waits_without_a_user_shares_one(queue: TurnedQueue) -> None:
    send(queue, named("ann", 2), "ann")
    send(queue, ["x", "y"], None)
    assert take(queue, 1) == ["ann-0"]
    queue.retry("ann-0", 1)
    assert take(queue, 4) == ["ann-0", "x", "ann-1", "y"]


def test_another_priority_is_another_tag(queue: TurnedQueue) -> None:
    send(queue, named("ann", MANY), "ann")
    send(queue, named("bob", 2), "bob", Priority.LOW)
    assert take(queue, 10) == named("ann", 10)
    queue.transitions.reprioritise("bob-1", Priority.NORMAL)
    assert queue.explain("bob-1").position in (0, 1)
    assert "bob-1" in take(queue, 2)


def test_nothing_is_left_when_nothing_waits(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    for user in ("ann", "bob", "cyd", "dan"):
        send(queue, named(user, 5), user)
    assert len(take(queue, 3)) == 3
    assert redis_client.keys("exec_queue:lane:mails:tags:*")
    assert len(take(queue, 30)) == 17
    assert redis_client.keys("exec_queue:lane:mails:t*") == [b"exec_queue:lane:mails:tags:2"]
    assert redis_client.hkeys("exec_queue:lane:mails:tags:2") == [b""]
    assert 0 < redis_client.ttl("exec_queue:lane:mails:tags:2") <= DAY_SECONDS + 20, "tags ran ahead of the clock"
    queue.clock.turn(20_000)
    send(queue, ["ann-again"], "ann")
    take(queue)
    queue.clock.turn(1)
    send(queue, ["bob-again"], "bob")
    queue.clock.turn(1)
    take(queue)
    assert redis_client.keys("exec_queue:lane:mails:t*") == []


def test_what_comes_back_after_its_lane_was_empty_costs_its_user_no_turns(queue: TurnedQueue) -> None:
    send(queue, named("ann", 40), "ann")
    assert take(queue, 40)[-1] == "ann-39", "its tag is 40 s ahead of the clock"
    send(queue, named("bob", 4), "bob")
    queue.retry("ann-39", 1)
    send(queue, named("ann", 4, 40), "ann")
    order = [name.partition("-")[0] for name in take(queue, 9)]
    assert order[0] == "ann", "what comes back goes first"
    assert order[1:] == ["bob", "ann"] * 4


def test_what_comes_back_after_its_lane_was_strict_meanwhile_goes_first_and_costs_nothing(queue: TurnedQueue) -> None:
    send(queue, named("ann", 40), "ann")
    assert len(take(queue, 40)) == 40
    queue.shares.share(LANE, None)
    queue.shares.share(LANE, "user")
    send(queue, named("bob", 4), "bob")
    for name in ("ann-38", "ann-39"):
        queue.retry(name, 1)
    send(queue, named("ann", 4, 40), "ann")
    assert take(queue, 3) == ["ann-38", "ann-39", "bob-0"]
    assert [name.partition("-")[0] for name in take(queue, 7)] == ["ann", "bob", "ann", "bob", "ann", "bob", "ann"]


def test_what_comes_back_after_the_clock_went_back_goes_first_and_costs_nothing(queue: TurnedQueue) -> None:
    queue.clock.turn(3_600_000)
    send(queue, named("ann", 2), "ann")
    assert len(take(queue, 2)) == 2
    queue.clock.turn(1_000 + 1_024)
    send(queue, ["last"], "cyd")
    queue.clock.turn(1)
    assert take(queue) == ["last"]
    queue.clock.turn(-3_000_000)
    send(queue, named("bob", 4), "bob")
    queue.retry("ann-1", 1)
    send(queue, named("ann", 4, 2), "ann")
    assert take(queue, 3) == ["ann-1", "bob-0", "ann-2"]
    assert [name.partition("-")[0] for name in take(queue, 6)] == ["bob", "ann"] * 3


def test_an_idle_user_is_forgotten_once_its_tag_is_passed(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    send(queue, named("ann", MANY), "ann")
    for number in range(50):
        send(queue, ["x"] if number == 0 else [f"x{number}"], f"user-{number}")
    take(queue, 100)
    idle = redis_client.zcard("exec_queue:lane:mails:tags:2:idle")
    assert isinstance(idle, int)
    assert idle == 50, "each of them had a turn, and the highest tag has not left it behind"
    send(queue, named("bob", 100), "bob")
    take(queue, 100)
    send(queue, ["last"], "last")
    for _ in range(10):
        take(queue, 1)
    assert redis_client.zcard("exec_queue:lane:mails:tags:2:idle") in range(50)


def test_what_waits_when_a_lane_becomes_fair_goes_first_and_a_lane_may_be_strict_again(queue: TurnedQueue) -> None:
    queue.shares.share(LANE, None)
    send(queue, named("ann", 3), "ann")
    assert queue.shares.share(LANE, "user") is None
    send(queue, named("ann", 2, 3), "ann")
    send(queue, named("bob", 2), "bob")
    assert take(queue, 5) == [*named("ann", 4), "bob-0"]
    assert queue.shares.share(LANE, None) == "user"
    assert take(queue, 5) == ["ann-4", "bob-1"]
    queue.clock.turn(100_000)
    send(queue, named("ann", 2, 5), "ann")
    send(queue, ["bob-2"], "bob")
    assert take(queue, 3) == [*named("ann", 2, 5), "bob-2"]


def test_lanes_are_compared_by_how_long_their_work_waits_never_by_a_tag(queue: TurnedQueue) -> None:
    send(queue, named("ann", 20), "ann")
    queue.clock.turn(1_000)
    queue.transitions.park_many([Candidate(f"o{n}", "others", 2, "send_mail", event=b"x") for n in range(5)])
    taken = queue.transitions.admit((LANE, "others"), 22, lease_ms=10**9).grants
    assert [grant.execution_id for grant in taken] == [*named("ann", 20), "o0", "o1"]


def test_ages_come_from_times_and_not_from_tags(queue: TurnedQueue) -> None:
    queue.clock.turn(queue.views.server_time_ms() - queue.clock.now_ms - 600_000)
    send(queue, named("ann", 200), "ann")  # the last one's tag lies over 3 minutes ahead
    take(queue, 100)
    queue.clock.turn(500_000)
    (ages,) = Ages(queue.scripts).of(queue.views.status_of([LANE]))
    assert 590_000 < ages.oldest_ms < 660_000
    assert 590_000 < ages.startable_ms < 660_000
    oldest = queue.action_statistics("send_mail").oldest_enqueued_at
    assert oldest is not None
    assert abs(oldest - (queue.clock.now_ms - 500_000)) < 1_000


def test_what_waits_too_long_expires_by_its_deadline(queue: TurnedQueue) -> None:
    queue.controls.change_setting("stale_timeout_seconds", 60, lane=LANE)
    send(queue, named("ann", 200), "ann")
    queue.clock.turn(61_000)
    queue.maintenance.sweep()
    assert queue.views.meta("ann-199")["state"] == State.EXPIRED


def test_what_is_no_kind_is_refused(queue: TurnedQueue, subtests: pytest.Subtests) -> None:
    for kind in cast("list[Any]", ["", "user:ann", "*", "a b\n", 7]):
        with subtests.test(kind=kind):
            with pytest.raises(InvalidRequest):
                queue.shares.share("others", kind)
            assert queue.shares.kind_of("others") is None


@pytest.mark.parametrize("weight", [0, 1_001, -1, True, 1.5, "3"])
def test_what_is_no_weight_is_refused(queue: TurnedQueue, weight: int) -> None:
    with pytest.raises(InvalidRequest, match="is not a weight"):
        queue.shares.weigh("user:ann", weight)
    assert queue.shares.weights() == {}


def test_who_changed_a_share_stands_in_the_journal(queue: TurnedQueue) -> None:
    assert queue.shares.weigh("user:ann", 1_000, by="bob") == 1
    assert queue.shares.weigh("user:ann", None, by="bob") == 1_000
    queue.shares.share("executions", "tenant", by="bob")
    changes = [(each.name, each.before, each.after, each.by) for each in queue.journal.changes(3)]
    assert changes == [
        ("fair_by", "", "tenant", "bob"),
        ("weight:user:ann", "1000", "1", "bob"),
        ("weight:user:ann", "1", "1000", "bob"),
    ]


def test_what_waited_behind_a_closed_gate_keeps_its_tags_and_goes_first_when_it_opens(queue: TurnedQueue) -> None:
    queue.controls.set_limit("user:ann", 0)
    send(queue, named("ann", 5), "ann")
    send(queue, named("bob", 20), "bob")
    assert take(queue, 10) == named("bob", 10)
    queue.controls.set_limit("user:ann", None)
    assert take(queue, 7) == [*named("ann", 5), *named("bob", 2, 10)]
