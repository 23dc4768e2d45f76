"""Schedules of a user that is forgotten: those that there are hold it up, of others nothing names it or what it ran."""

from typing import Any

import pytest
from forgotten import OTHER, SECRET, USER, found_in_redis, found_in_sql
from ledger_reading import Reading

from bandmaster.ledger import schedules_kept
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import UserHasSchedules
from bandmaster.ledger.forgetting import Forgotten, catch_up, forget
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.scheduler.engine.held_schedule import Held, readable_schedule
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.model.errors import QueueRejected
from bandmaster.scheduler.queue import ExecutionQueueService

SCHEDULES = "SELECT name, value_before, value_after FROM changes WHERE verb = 'schedule' ORDER BY at_ms, entry_number"


def timed(name: str, user: str, **fields: Any) -> Schedule:
    """One that fires once a year, with something to hide."""
    what = {"actor": "mail", "args": [f"{SECRET}{user}"], "kwargs": {"to": f"{SECRET}{user}"}}
    return Schedule.of({"name": name, "cron": "0 0 1 1 *", "user_id": user, **(fields or what)})


def forgotten(queue: ExecutionQueueService, database: Database) -> Forgotten:
    return forget(queue, database, USER, by="operator@host")


def is_forgotten(client: Any, database: Database) -> None:
    for key in client.scan_iter("exec_queue:reply:*"):
        client.delete(key)
    assert found_in_redis(client, USER) == []
    assert found_in_sql(database, USER) == []


@pytest.mark.usefixtures("consuming")
def test_nothing_names_a_user_whose_schedules_are_removed(
    queue: ExecutionQueueService, database: Database, reading: Reading, redis_client: Any
) -> None:
    queue.schedules.put(timed("mails", USER))
    queue.schedules.put(timed("runs", USER, command=["echo", f"{SECRET}{USER}"]))
    queue.schedules.put(timed("others", OTHER))
    queue.schedules.put(timed("runs", OTHER))
    queue.schedules.remove("mails")
    catch_up(queue, database)
    of_other = [row for row in reading.rows(SCHEDULES) if row["name"] == "others"]
    assert any(each.startswith("changes") for each in found_in_sql(database, USER))

    done = forgotten(queue, database)
    is_forgotten(redis_client, database)
    rows = reading.rows(SCHEDULES)
    assert [row for row in rows if row["name"] == "others"] == of_other
    assert [row["name"] for row in rows] == ["mails", "runs", "others", "runs", "mails"]
    for row in (rows[0]["value_after"], rows[1]["value_after"], rows[3]["value_before"], rows[4]["value_before"]):
        assert done.pseudonym in row
        assert "0 0 1 1 *" in readable_schedule(row)
    assert SECRET in rows[3]["value_after"], "what the other one runs"
    # A rebuild sets again what there was.
    redis_client.flushdb()
    rebuild(queue, database)
    assert queue.schedules.names() == ["others", "runs"]
    assert {each.schedule.user_id for each in queue.schedules.page()} == {OTHER}
    is_forgotten(redis_client, database)


@pytest.mark.parametrize("kept", ["active", "paused", "declared"])
@pytest.mark.usefixtures("consuming")
def test_one_as_whom_a_schedule_runs_is_not_forgotten(
    kept: str, queue: ExecutionQueueService, database: Database
) -> None:
    if kept == "declared":
        queue.schedules.declare(timed("mails", USER))
    else:
        queue.schedules.put(timed("mails", USER), paused=kept == "paused")
    queue.schedules.put(timed("others", OTHER))
    before = queue.schedules.page()
    queue.controls.set_limit(f"user:{USER}", 5)
    with pytest.raises(UserHasSchedules, match=r"1 schedules run as 'ann-example': mails; let them run as somebody"):
        forgotten(queue, database)
    assert queue.schedules.page() == before
    assert queue.controls.limits() == {f"user:{USER}": 5}
    queue.schedules.remove("mails")
    forgotten(queue, database)


@pytest.mark.usefixtures("consuming")
def test_many_changes_are_gone_through_page_by_page(
    queue: ExecutionQueueService, database: Database, redis_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules_kept, "_ROWS_A_PAGE", 2)
    for number in range(5):
        queue.schedules.put(timed(f"of-{number}", USER if number % 2 else OTHER))
    for number in range(5):
        queue.schedules.remove(f"of-{number}")
    forgotten(queue, database)
    is_forgotten(redis_client, database)


@pytest.mark.usefixtures("consuming")
def test_a_schedule_that_is_added_meanwhile_is_left_as_it_is(
    queue: ExecutionQueueService, database: Database, reading: Reading
) -> None:
    queue.schedules.put(timed("mails", USER))
    catch_up(queue, database)
    assert schedules_kept.forget_schedules(database, USER, "forgotten-0", schedules_kept.schedules_of(queue, USER)) == 0
    (row,) = reading.rows(SCHEDULES)
    assert SECRET in row["value_after"]
    assert schedules_kept.forget_schedules(database, USER, "forgotten-0", []) == 1


def test_what_is_damaged_names_nobody(queue: ExecutionQueueService, redis_client: Any) -> None:
    queue.schedules.put(timed("mails", USER))
    redis_client.hset("exec_queue:schedules", "mails", b"own active allow {")
    assert schedules_kept.schedules_of(queue, USER) == []
    assert isinstance(queue.schedules.get("mails"), Held)
    with pytest.raises(QueueRejected):
        _ = queue.schedules.get("mails").schedule
