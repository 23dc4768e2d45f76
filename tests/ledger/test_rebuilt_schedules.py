"""Schedules in the history: who changed which; and after a loss operators' are there again, paused if they were."""

import redis
from ledger_reading import Reading, catch_up

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.planning import Planner, put
from bandmaster.scheduler.queue import ExecutionQueueService


def yearly(name: str, minute: int = 0) -> Schedule:
    return Schedule.of({"name": name, "cron": f"{minute} 0 1 1 *", "command": ["true"]})


def test_they_are_again_as_operators_left_them(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading, redis_client: redis.Redis
) -> None:
    for each in (yearly("kept"), yearly("paused"), yearly("gone"), yearly("kept", 30)):
        put(queue.schedules, each, by="ada")
    queue.schedules.declare(yearly("declared"))
    queue.schedules.pause("paused", by="ada")
    queue.schedules.pause("declared", by="ada")
    queue.schedules.remove("gone", by="ada")
    planned = list(queue.ids.scheduled())
    assert len(planned) == 1
    catch_up(consumer)
    rows = reading.rows("SELECT name, changed_by FROM changes WHERE verb = 'schedule'")
    assert {row["changed_by"] for row in rows} == {"ada"}
    assert [row["name"] for row in rows] == ["kept", "paused", "gone", "kept", "paused", "declared", "gone"]
    redis_client.flushdb()
    assert rebuild(queue, database).not_restored == {}
    assert {each.name: each.is_paused for each in queue.schedules.page()} == {
        "declared": True,
        "kept": False,
        "paused": True,
    }
    assert queue.schedules.get("kept").schedule == yearly("kept", 30)
    assert queue.schedules.get("declared").is_declared
    put(queue.schedules, yearly("kept", 31), by="ada")
    put(queue.schedules, yearly("kept", 30), by="ada")
    assert planned == [each for each in queue.ids.scheduled() if each in planned], "the same id is accepted once"


def test_a_planned_occurrence_without_a_payload_is_planned_again_and_no_loss(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    mails = Schedule.of({"name": "mails", "cron": "0 0 1 1 *", "actor": "mail", "lane": "mails"})
    put(queue.schedules, mails, by="ada")
    planned = list(queue.ids.scheduled())
    queue.transitions.park(Candidate("later", "mails", 2, "mail", due_ms=10**13, message=b"kept by no ledger"))
    catch_up(consumer)
    redis_client.flushdb()
    assert list(rebuild(queue, database).not_restored) == ["later"]
    Planner(queue.schedules).round()
    assert list(queue.ids.scheduled()) == planned
