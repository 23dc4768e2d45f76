"""What is read back was proven when it was accepted: only what it takes to plan it is looked at again."""

import json

import pytest
import redis
from schedule_playing import MINUTE_MS, Played, ids, schedule

from bandmaster.scheduler.events.schedule import MOST_BYTES, Schedule
from bandmaster.scheduler.model.errors import InvalidRequest

KEPT = {"name": "tidy", "cron": "* * * * *", "actor": "tidy_up", "lane": "mails"}
REFUSED_TODAY = {
    "a jitter as long as the interval": {"jitter_ms": 60_000},
    "too many bytes": {"args": ["x" * MOST_BYTES]},
    "an option of commands": {"timeout_seconds": 3},
}


@pytest.mark.parametrize("fields", REFUSED_TODAY.values(), ids=REFUSED_TODAY)
def test_an_old_one_that_would_be_refused_today_is_read_and_planned(
    played: Played, redis_client: redis.Redis, fields: dict[str, object]
) -> None:
    with pytest.raises(InvalidRequest):
        Schedule.of(KEPT | fields)
    played.schedules.put(schedule())
    kept = json.dumps(KEPT | fields | {"jitter_ms": fields.get("jitter_ms", 0)})
    redis_client.hset("exec_queue:schedules", "tidy", f"own active allow {kept}")
    played.let_run(3 * MINUTE_MS)
    assert played.schedules.get("tidy").problem is None
    assert set(ids("tidy", 1, 2)) <= set(played.waiting_ids())


def test_reading_back_computes_no_times() -> None:
    """The line names a day that no month has: whoever proves it finds no time."""
    never = json.dumps(KEPT | {"cron": "0 0 30 2 *"})
    assert Schedule.from_json(never).cron == "0 0 30 2 *"
    with pytest.raises(InvalidRequest, match="never fires"):
        next(Schedule.from_json(never).times(0))


def test_one_that_never_fires_or_runs_nothing_is_told_and_holds_up_no_other(
    played: Played, redis_client: redis.Redis
) -> None:
    for name, kept in (("never", KEPT | {"cron": "0 0 30 2 *"}), ("nothing", {"name": "nothing", "cron": "* * * * *"})):
        played.schedules.put(schedule(name))
        redis_client.hset("exec_queue:schedules", name, f"own active allow {json.dumps(kept | {'name': name})}")
    played.schedules.put(schedule("zebra"))
    played.let_run(2 * MINUTE_MS)
    assert played.schedules.get("never").problem == "not_readable"
    assert played.schedules.get("nothing").problem == "not_readable"
    assert [each for each in played.waiting_ids() if ":zebra:" in each] == ids("zebra", 1, 2)
