"""A declared schedule that lives on another server by now is withdrawn here, with what it planned and is not due."""

import redis
from schedule_playing import MINUTE_MS, Played, ids, schedule

from bandmaster.scheduler.engine.schedules import Change


def test_the_schedule_and_what_is_not_due_go_and_what_was_let_go_stays(played: Played) -> None:
    played.schedules.declare(schedule())
    played.let_run(MINUTE_MS)
    assert (played.waiting_ids(), played.scheduled_ids()) == (ids("tidy", 1), ids("tidy", 2))
    assert played.schedules.withdraw("tidy") is Change.OK
    assert (played.waiting_ids(), played.scheduled_ids()) == (ids("tidy", 1), [])
    assert played.schedules.page() == []
    assert played.schedules.next_look_ms() is None
    played.let_run(3 * MINUTE_MS)
    assert played.waiting_ids() == ids("tidy", 1)


def test_repeating_it_and_withdrawing_what_there_is_not_does_nothing(played: Played) -> None:
    assert played.schedules.withdraw("never") is Change.SAME
    played.schedules.declare(schedule())
    assert played.schedules.withdraw("tidy") is Change.OK
    assert played.schedules.withdraw("tidy") is Change.SAME


def test_an_operator_s_stays(played: Played) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    assert played.schedules.withdraw("tidy") is Change.OWN
    assert played.scheduled_ids() == ids("tidy", 1)


def test_one_that_is_due_when_it_is_withdrawn_starts(played: Played) -> None:
    played.schedules.declare(schedule())
    played.planner.round()
    played.clock.turn(MINUTE_MS + 1)
    played.schedules.withdraw("tidy")
    assert played.waiting_ids() == ids("tidy", 1)


def test_one_that_comes_back_is_planned_from_then_on(played: Played, redis_client: redis.Redis) -> None:
    played.schedules.declare(schedule())
    played.let_run(MINUTE_MS)
    played.schedules.withdraw("tidy")
    played.let_run(2 * MINUTE_MS)
    played.schedules.declare(schedule())
    played.let_run(MINUTE_MS)
    assert played.waiting_ids() == ids("tidy", 1, 4)
    assert redis_client.exists("exec_queue:schedule_times")
