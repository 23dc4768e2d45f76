"""The three queries that operators of `queue_stats` have, as they have them but for the schema's name."""

from datetime import UTC, datetime, timedelta

import pytest
import redis
from ledger_reading import Reading, catch_up

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.queue_stats import QueueStatsRepository
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

ACTIVE = """
    SELECT action_id, queue_length, active_count, max_concurrent, oldest_enqueued_at, last_updated
    FROM queue_stats
    WHERE queue_length > 0 OR active_count > 0
    ORDER BY queue_length DESC
"""
STUCK = """
    SELECT a.ref, qs.queue_length, qs.active_count, qs.oldest_enqueued_at, NOW() - qs.last_updated AS stale_duration
    FROM queue_stats qs
    JOIN action a ON a.id = qs.action_id
    WHERE (queue_length > 0 OR active_count > 0)
    AND last_updated < NOW() - INTERVAL '10 minutes'
"""
THROUGHPUT = """
    SELECT a.ref, qs.total_completed, qs.total_enqueued,
           qs.total_completed::float / NULLIF(qs.total_enqueued, 0) * 100 AS completion_rate
    FROM queue_stats qs
    JOIN action a ON a.id = qs.action_id
    WHERE total_enqueued > 0
    ORDER BY total_enqueued DESC
"""


@pytest.fixture
def filled(queue: ExecutionQueueService, consumer: Consumer) -> None:
    """Three executions of one action, of which one runs and one has ended, and one of another."""
    queue.controls.set_limit("action:core.http.get", 2)
    for number in range(3):
        queue.enqueue(ExecutionRequestedEvent(execution_id=f"exec-{number}", action="core.http.get", command=("true",)))
    queue.enqueue(ExecutionRequestedEvent(execution_id="mail", action="mail", command=("true",)))
    for _ in range(2):
        assert queue.try_schedule() is not None
    queue.release("exec-0")
    catch_up(consumer)


@pytest.mark.usefixtures("filled")
def test_the_figures_of_an_action_are_found_by_its_name_and_by_its_number(database: Database, reading: Reading) -> None:
    repository = QueueStatsRepository(database)
    found = repository.find_by_action("core.http.get")
    assert found is not None
    assert (found.queue_length, found.active_count, found.max_concurrent) == (1, 1, 2)
    assert (found.total_enqueued, found.total_completed) == (3, 1)
    accepted_ms = reading.one("SELECT accepted_ms FROM executions WHERE execution_id = 'exec-2'")
    assert found.oldest_enqueued_at == datetime.fromtimestamp(accepted_ms / 1000, UTC)
    assert found.last_updated.utcoffset() == timedelta(0)
    assert repository.find_by_action(found.action_id) == found
    idle = repository.find_by_action("mail")
    assert idle is not None
    assert (idle.max_concurrent, idle.ref) == (None, "mail")
    assert repository.find_by_action("unheard of") is None
    assert repository.find_by_action(10**6) is None


@pytest.mark.usefixtures("filled")
def test_active_queues(reading: Reading) -> None:
    busy, idle = reading.rows(ACTIVE)
    assert (busy["queue_length"], busy["active_count"], busy["max_concurrent"]) == (1, 1, 2)
    assert busy["oldest_enqueued_at"] is not None
    assert (idle["queue_length"], idle["active_count"], idle["max_concurrent"]) == (1, 0, None)


@pytest.mark.usefixtures("filled")
def test_stuck_queues_and_throughput_on_postgresql(reading: Reading, ledger_url: str) -> None:
    if ledger_url.startswith("sqlite"):
        # It has no INTERVAL and no ::float; its own words for the same.
        assert reading.rows(THROUGHPUT.replace("::float", " * 1.0"))[0]["completion_rate"] == pytest.approx(100 / 3)
        return
    assert reading.rows(STUCK) == []
    reading.change("UPDATE queue_stats SET last_updated = last_updated - INTERVAL '11 minutes'")
    assert {row["ref"] for row in reading.rows(STUCK)} == {"core.http.get", "mail"}
    first, second = reading.rows(THROUGHPUT)
    assert (first["ref"], first["total_completed"], first["total_enqueued"]) == ("core.http.get", 1, 3)
    assert first["completion_rate"] == pytest.approx(100 / 3)
    assert (second["ref"], second["completion_rate"]) == ("mail", 0)


def test_last_updated_moves_with_transitions_only(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    def last_updated() -> object:
        return reading.one("SELECT last_updated FROM queue_stats JOIN action ON id = action_id WHERE ref = 'mail'")

    def send(execution_id: str, action: str) -> None:
        queue.enqueue(ExecutionRequestedEvent(execution_id=execution_id, action=action, command=("true",)))

    send("a", "mail")
    catch_up(consumer)
    before = last_updated()
    send("b", "other")
    catch_up(consumer)
    assert last_updated() == before, "another action's"
    queue.controls.set_limit("action:mail", 3)
    catch_up(consumer)
    assert (last_updated(), reading.one("SELECT max(max_concurrent) FROM queue_stats")) == (before, 3), "a limit"
    send("c", "other")
    send("d", "other")
    redis_client.xtrim("exec_queue:journal", maxlen=1, approximate=False)
    catch_up(consumer)
    catch_up(consumer)
    assert reading.one("SELECT count(*) FROM gaps") == 1
    assert last_updated() == before, "a comparison with Redis"
    send("e", "mail")
    catch_up(consumer)
    assert last_updated() != before
