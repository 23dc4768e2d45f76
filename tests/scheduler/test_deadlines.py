"""What waited too long is found by an index of deadlines: in lanes with a stale timeout, and by a message's own age."""

import pytest
import redis
from defects.contrast import event
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.errors import QueueFull
from bandmaster.scheduler.model.states import State

PAGES = 3


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """Its clock is turned."""
    return TurnedQueue(redis_client)


def park(
    queue: TurnedQueue, name: str, lane: str = "mail", max_age_ms: int | None = None, due_ms: int | None = None
) -> None:
    """One that waits."""
    queue.transitions.park(Candidate(name, lane, 2, "pod", message=b"x", max_age_ms=max_age_ms, due_ms=due_ms))


def state(queue: TurnedQueue, name: str) -> str:
    """Where it stands."""
    return queue.views.meta(name)["state"]


def why_it_ended(queue: TurnedQueue, name: str) -> str:
    """As the journal has it."""
    return queue.journal.of(name)[-1].fields["reason"]


def test_a_lane_without_a_stale_timeout_is_never_swept(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    park(queue, "waits")
    assert redis_client.exists("exec_queue:deadlines") == 0
    queue.clock.turn(10**11)
    assert queue.maintenance.sweep() == 0
    (grant,) = queue.transitions.admit(("mail",), 1).grants
    assert grant.execution_id == "waits"


def test_a_timeout_that_is_set_changed_or_lifted_holds_for_what_waits_already(queue: TurnedQueue) -> None:
    names = [f"e{number}" for number in range(200 * PAGES + 1)]
    queue.transitions.park_many([Candidate(name, "mail", 2, "pod", message=b"x") for name in names])
    queue.clock.turn(50_000)
    queue.controls.change_setting("stale_timeout_seconds", 60, lane="mail")
    park(queue, "new")
    assert queue.maintenance.sweep() == 0
    queue.transitions.reprioritise("e1", 0)
    queue.clock.turn(10_001)
    assert queue.maintenance.sweep() == len(names)
    assert state(queue, "new") == State.PENDING
    queue.controls.change_setting("stale_timeout_seconds", 5, lane="mail")
    assert queue.maintenance.sweep() == 1
    assert why_it_ended(queue, "new") == "stale"

    park(queue, "last")
    queue.controls.change_setting("stale_timeout_seconds", None, lane="mail")
    queue.clock.turn(10**9)
    assert queue.maintenance.sweep() == 0
    assert state(queue, "last") == State.PENDING


def test_one_moved_to_another_band_while_a_lane_is_indexed_anew_is_not_passed_over(queue: TurnedQueue) -> None:
    queue.transitions.park_many([Candidate(f"e{number}", "mail", 2, "pod", message=b"x") for number in range(250)])
    queue.controls.change_setting("stale_timeout_seconds", 60, lane="mail")
    page = queue.scripts.script("sweep", "epoch count")
    assert queue.scripts.call(page, "", 200) == [0, 1]
    queue.transitions.reprioritise("e249", 0)
    queue.clock.turn(60_001)
    assert queue.maintenance.sweep() == 250


def test_a_message_with_a_maximum_age_expires_by_it_also_in_a_lane_without_a_timeout(queue: TurnedQueue) -> None:
    park(queue, "fresh", max_age_ms=30_000)
    park(queue, "waits")
    park(queue, "delayed", max_age_ms=30_000, due_ms=queue.clock.now_ms + 60_000)
    queue.clock.turn(30_000)
    assert queue.maintenance.sweep() == 0
    queue.clock.turn(1)
    assert queue.maintenance.sweep() == 1
    assert (state(queue, "fresh"), why_it_ended(queue, "fresh")) == (State.EXPIRED, "max_age")
    queue.clock.turn(30_000)
    assert [grant.execution_id for grant in queue.transitions.admit(("mail",), 2).grants] == ["waits"]
    assert state(queue, "delayed") == State.EXPIRED


def test_a_retry_keeps_its_age_and_waits_anew(queue: TurnedQueue) -> None:
    queue.controls.change_setting("stale_timeout_seconds", 60, lane="mail")
    park(queue, "young", max_age_ms=90_000)
    park(queue, "old")
    for delay_ms in (0, 10_000):
        for grant in queue.transitions.admit(("mail",), 2, lease_ms=600_000).grants:
            queue.clock.turn(20_000)
            retry = Retry(grant.execution_id, grant.attempt, "retry", delay_ms=delay_ms)
            queue.transitions.settle(retry)
        assert queue.maintenance.sweep() == 0
    queue.clock.turn(10_001)
    queue.maintenance.promote()
    assert queue.maintenance.sweep() == 1
    assert (state(queue, "young"), state(queue, "old")) == (State.EXPIRED, State.PENDING)
    queue.clock.turn(60_001)
    assert queue.maintenance.sweep() == 1


def test_time_paused_is_no_waiting_and_does_not_make_a_message_younger(queue: TurnedQueue) -> None:
    queue.controls.change_setting("stale_timeout_seconds", 60, lane="mail")
    park(queue, "waits")
    park(queue, "ages", max_age_ms=100_000)
    queue.clock.turn(50_000)
    queue.controls.pause("lane:mail")
    queue.clock.turn(49_000)
    assert queue.maintenance.sweep() == 0, "both are looked at, and put off"
    queue.clock.turn(2_000)
    assert queue.maintenance.sweep() == 1
    assert (state(queue, "waits"), state(queue, "ages")) == (State.PENDING, State.EXPIRED)
    queue.controls.resume("lane:mail")
    queue.clock.turn(10_000)
    assert queue.maintenance.sweep() == 0
    queue.clock.turn(1)
    assert queue.maintenance.sweep() == 1


def test_a_full_lane_makes_room_of_what_is_stale(queue: TurnedQueue) -> None:
    queue.controls.change_setting("max_queue_size", 1, lane="mail")
    park(queue, "old", max_age_ms=1_000)
    with pytest.raises(QueueFull):
        park(queue, "new")
    queue.clock.turn(1_001)
    park(queue, "new")
    assert state(queue, "old") == State.EXPIRED


def test_whoever_asks_sweeps_once_a_second_so_that_what_no_worker_takes_expires(queue: TurnedQueue) -> None:
    park(queue, "nobody-asks", lane="abandoned", max_age_ms=1_000)
    queue.controls.set_limit("action:pod", 0)
    park(queue, "held-back", max_age_ms=1_000)
    assert not queue.transitions.admit(("mail",), 1).grants
    queue.clock.turn(1_001)
    assert not queue.transitions.admit(("other",), 1).grants
    assert (state(queue, "nobody-asks"), state(queue, "held-back")) == (State.EXPIRED, State.EXPIRED)


def test_an_execution_of_the_default_lane_expires_after_an_hour(queue: TurnedQueue) -> None:
    queue.enqueue(event("x"))
    queue.clock.turn(3_600_000)
    assert queue.maintenance.sweep() == 0
    queue.clock.turn(1)
    assert queue.maintenance.sweep() == 1
