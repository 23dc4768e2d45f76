"""The sorted set of times is lost, and nothing else: what is to be planned is planned again, page by page."""

from datetime import UTC, datetime

import pytest
import redis
from schedule_playing import MINUTE_MS, Played, ids, schedule

from bandmaster.scheduler import planning
from bandmaster.scheduler.engine.schedules import READ_A_PAGE

TIMES = "exec_queue:schedule_times"
NAMES = [f"s{number}" for number in range(5)]


def test_schedules_whose_times_are_lost_go_on_and_miss_nothing(
    played: Played, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "LOOKED_A_PAGE", 2)
    played.schedules.put(schedule("ends", end=datetime.fromtimestamp(played.clock.now_ms / 1000 + 90, UTC)))
    for name in NAMES:
        played.schedules.put(schedule(name))
    played.schedules.put(schedule("paused"), paused=True)
    played.let_run(2 * MINUTE_MS)
    assert redis_client.delete(TIMES)
    played.let_run(2 * MINUTE_MS)
    ran = [each for name in NAMES for each in ids(name, 1, 2, 3, 4)]
    assert sorted(played.waiting_ids()) == sorted([*ids("ends", 1), *ran])
    assert sorted(played.scheduled_ids()) == [each for name in NAMES for each in ids(name, 5)]
    assert redis_client.zrange(TIMES, 0, -1) == [name.encode() for name in NAMES]


def test_the_next_planner_finds_them_too(played: Played, redis_client: redis.Redis) -> None:
    played.schedules.put(schedule())
    played.let_run(MINUTE_MS)
    assert redis_client.delete(TIMES)
    played.planner = played.new_planner()
    assert played.planner.round() == 1
    assert played.planner.round() == 0
    assert redis_client.zcard(TIMES) == 1


def test_times_of_names_that_have_no_schedule_are_dropped_and_hold_up_no_other(
    played: Played, redis_client: redis.Redis
) -> None:
    redis_client.zadd(TIMES, {f"ghost{number}": 0 for number in range(READ_A_PAGE + 50)})
    played.schedules.put(schedule())
    played.planner.round()
    assert played.scheduled_ids() == ids("tidy", 1)
    assert redis_client.zrange(TIMES, 0, -1) == [b"tidy"]


def test_the_time_of_a_schedule_that_was_just_added_stays(played: Played, redis_client: redis.Redis) -> None:
    played.schedules.put(schedule())
    revision = played.schedules.get("tidy").revision
    played.schedules.drop_time("tidy", epoch=None)
    assert redis_client.zrange(TIMES, 0, -1) == [b"tidy"]
    assert played.schedules.get("tidy").revision == revision
