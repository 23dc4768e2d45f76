"""A change of a schedule takes effect at once: what is not due is taken back, and nothing comes twice."""

from datetime import UTC, datetime
from typing import Any

import pytest
import redis
from model.dump import read_dump
from schedule_playing import MINUTE_MS, Played, ids, schedule

from bandmaster.scheduler.engine.schedules import Change
from bandmaster.scheduler.model.errors import (
    DuplicateExecution,
    InvalidRequest,
    NotLeader,
    QueueRejected,
    ScheduleExists,
    UnknownSchedule,
)
from bandmaster.scheduler.planning import run_now
from bandmaster.scheduler.plans import next_times
from bandmaster.scheduler.process.leadership import Leadership


def test_a_changed_rule_holds_from_now_on(played: Played) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    assert played.scheduled_ids() == ids("tidy", 1)
    assert played.schedules.put(schedule(cron="*/3 * * * *")) is Change.OK
    assert played.scheduled_ids() == []
    played.planner.round()
    (planned,) = played.scheduled_ids()
    played.schedules.put(schedule())
    played.let_run(2 * MINUTE_MS)
    assert played.waiting_ids() == ids("tidy", 1, 2), "the same instant was parked, taken back and parked again"
    assert planned not in played.waiting_ids() or planned in ids("tidy", 1, 2)


def test_the_same_again_changes_nothing_and_is_not_journalled(played: Played) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    assert played.schedules.put(schedule()) is Change.SAME
    assert played.scheduled_ids() == ids("tidy", 1)
    assert [(each.verb, each.name) for each in played.journal.changes()] == [("schedule", "tidy")]
    with pytest.raises(ScheduleExists, match="a schedule 'tidy' already"):
        played.schedules.put(schedule(), only_new=True)


def test_a_removed_one_leaves_nothing(played: Played, redis_client: redis.Redis) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    played.schedules.remove("tidy")
    assert played.scheduled_ids() == []
    assert played.schedules.page() == []
    assert played.schedules.next_look_ms() is None
    for act in (played.schedules.remove, played.schedules.pause, played.schedules.resume, played.schedules.get):
        with pytest.raises(UnknownSchedule, match="there is no schedule 'tidy'"):
            act("tidy")
    played.let_run(2 * MINUTE_MS)
    assert played.waiting_ids() == []
    assert not read_dump(redis_client, played.scripts.keys).metas()


def test_a_planner_that_read_the_schedule_before_a_change_is_refused(played: Played) -> None:
    played.schedules.put(schedule())
    (before,) = played.schedules.page()
    played.schedules.put(schedule(cron="0 0 1 1 *"))
    answer: Any = played.schedules.plan(before, [], epoch=None, cursor_ms=10**13, look_ms=None)
    assert answer == [b"CHANGED"]


def test_a_leader_that_slept_plans_nothing(played: Played) -> None:
    played.schedules.put(schedule())
    old, new = Leadership(played.scripts, leader_id="old"), Leadership(played.scripts, leader_id="new")
    assert old.elect()
    old_epoch = old.epoch
    old.resign()
    assert new.elect()
    with pytest.raises(NotLeader):
        played.planner.round(old_epoch, "old")
    assert played.scheduled_ids() == []
    played.planner.round(new.epoch, "new")
    assert played.scheduled_ids() == ids("tidy", 1)


def test_a_run_with_the_same_key_is_one(played: Played) -> None:
    played.schedules.put(schedule(), paused=True)
    first = run_now(played.schedules, "tidy", "ticket-1")
    with pytest.raises(DuplicateExecution) as again:
        run_now(played.schedules, "tidy", "ticket-1")
    assert again.value.execution_id == first.execution_id
    assert played.waiting_ids() == [first.execution_id]
    with pytest.raises(UnknownSchedule):
        run_now(played.schedules, "other")


def test_a_full_lane_is_tried_again_and_told(played: Played) -> None:
    played.controls.change_setting("max_queue_size", 1, lane="mails")
    played.schedules.put(schedule())
    played.planner.round()
    played.let_run(MINUTE_MS + 2_000)
    assert played.schedules.get("tidy").problem == "QUEUE_FULL"
    with pytest.raises(QueueRejected):
        run_now(played.schedules, "tidy")
    played.controls.change_setting("max_queue_size", 10, lane="mails")
    played.let_run(2 * MINUTE_MS)
    assert played.waiting_ids() == ids("tidy", 1, 2, 3)
    assert played.schedules.get("tidy").problem is None


def test_one_that_has_ended_or_cannot_be_read_is_told_and_holds_up_no_other(
    played: Played, redis_client: redis.Redis
) -> None:
    played.schedules.put(schedule("ends", end=datetime.fromtimestamp(played.clock.now_ms / 1000 + 90, UTC)))
    played.schedules.put(schedule("broken"))
    redis_client.hset("exec_queue:schedules", "broken", 'own active allow {"from":"a later release"}')
    played.schedules.put(schedule("zebra"))
    played.let_run(4 * MINUTE_MS)
    assert played.schedules.get("ends").problem == "ended"
    assert played.schedules.get("broken").problem == "not_readable"
    assert [each for each in played.waiting_ids() if ":ends:" in each] == ids("ends", 1)
    assert [each for each in played.waiting_ids() if ":zebra:" in each] == ids("zebra", 1, 2, 3, 4)


def test_jitter_is_the_same_for_the_same_occurrence_and_shorter_than_the_interval(played: Played) -> None:
    one = schedule(jitter_ms=30_000)
    times = next_times(one, played.clock.now_ms, 50)
    assert [one.due_ms(each) for each in times] == [schedule(jitter_ms=30_000).due_ms(each) for each in times]
    delays = {one.due_ms(each) - each for each in times}
    assert len(delays) > 25
    assert all(0 <= each <= 30_000 for each in delays)
    played.schedules.put(one)
    played.planner.round()
    played.let_run(10 * MINUTE_MS)
    assert set(ids("tidy", *range(1, 10))) <= set(played.waiting_ids()) <= set(ids("tidy", *range(1, 11)))
    with pytest.raises(InvalidRequest, match="60000 is as long as the interval"):
        schedule(jitter_ms=60_000)


def test_there_is_a_bound_and_lists_come_in_pages(played: Played, redis_client: redis.Redis) -> None:
    for number in range(25):
        played.schedules.put(schedule(f"s{number:02}"))
    assert [each.name for each in played.schedules.page("s09", 10)] == [f"s{number}" for number in range(10, 20)]
    assert len(played.schedules.names(most=100)) == 25
    redis_client.zadd("exec_queue:schedule_names", {f"t{number}": 0 for number in range(10_000 - 25)})
    with pytest.raises(InvalidRequest, match="there are 10000 schedules already"):
        played.schedules.put(schedule("one-more"))
    assert played.schedules.put(schedule("s03", cron="0 0 * * *")) is Change.OK
    assert played.schedules.some(["one-more"]) == []
