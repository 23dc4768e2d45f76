"""A scrape tells what Redis and the ledger know, by the names that people's queries use, and what is away."""

import redis
from ledger_reading import Reading, catch_up
from scraped import Series, scrape, value

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.metrics.serving import FiguresCollector
from bandmaster.scheduler.engine.engine import Engine
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.keys import Keys
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.scripts import Scripts

EVENTS_METRICS = {
    *("queue_depth", "queue_active", "queue_enqueue_total", "queue_schedule_total"),
    *("queue_wait_time_bucket", "queue_wait_time_sum", "queue_wait_time_count"),
}


def send(queue: ExecutionQueueService, *names: str) -> None:
    for name in names:
        queue.enqueue(ExecutionRequestedEvent(execution_id=name, action="resize", command=("true",)))


def names_of(series: Series) -> set[str]:
    return {name for name, _ in series}


def test_the_five_metrics_of_events_have_their_names_and_no_other_label(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    send(queue, "a", "b", "c")
    queue.transitions.park(Candidate("mail", "mails", 2, "mail", message=b"hello"))
    assert queue.try_schedule()
    catch_up(consumer)
    series = scrape(FiguresCollector(queue, database, gates=20))
    assert {name for name in names_of(series) if name.startswith("queue_")} == EVENTS_METRICS
    assert {name: value(series, name) for name in ("queue_depth", "queue_active")} == {
        "queue_depth": 2,
        "queue_active": 1,
    }
    assert value(series, "queue_enqueue_total") == 3
    assert value(series, "queue_schedule_total") == 1
    assert value(series, "queue_wait_time_count", priority="NORMAL") == 1
    assert value(series, "queue_wait_time_count", priority="HIGH") == 0
    assert value(series, "queue_wait_time_bucket", priority="NORMAL", le="3600.0") == 1
    assert value(series, "queue_wait_time_bucket", priority="NORMAL", le="+Inf") == 1
    labels = {name for metric, names in series if metric.startswith("queue_") for name, _ in names}
    assert labels == {"priority", "le"}


def test_the_gauges_are_those_of_redis(queue: ExecutionQueueService, consumer: Consumer, database: Database) -> None:
    queue.controls.set_limit("action:resize", 1)
    send(queue, "a", "b", "c")
    assert queue.try_schedule()
    assert queue.try_schedule() is None
    catch_up(consumer)
    series = scrape(FiguresCollector(queue, database, gates=1))
    assert value(series, "bandmaster_waiting", lane="executions", priority="NORMAL") == 2
    assert value(series, "bandmaster_active", lane="executions") == 1
    assert value(series, "bandmaster_gate_held", gate="action:resize") == 1
    assert value(series, "bandmaster_gate_limit", gate="action:resize") == 1
    assert value(series, "bandmaster_gate_waiting", gate="action:resize") == 2
    assert value(series, "bandmaster_leader") == 0
    assert value(series, "bandmaster_journal_entries") == len(list(queue.journal.entries()))
    oldest = value(series, "bandmaster_oldest_wait_seconds", lane="executions")
    assert oldest is not None
    now_ms = queue.views.server_time_ms()
    accepted_ms = min(entry.at_ms for entry in queue.journal.entries() if entry.execution_id == "b")
    assert 0 <= oldest <= (now_ms - accepted_ms) / 1000


def test_the_number_of_gates_is_bounded(queue: ExecutionQueueService, consumer: Consumer, database: Database) -> None:
    for number in range(10):
        queue.controls.set_limit(f"tenant:{number}", 5)
    catch_up(consumer)
    for bound, expected in ((3, 3), (0, 0)):
        series = scrape(FiguresCollector(queue, database, gates=bound))
        assert sum(name == "bandmaster_gate_held" for name, _ in series) == expected


def test_the_lag_is_what_the_ledger_has_yet_to_read(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    catch_up(consumer)
    send(queue, "a", "b", "c")
    collector = FiguresCollector(queue, database, gates=20)
    assert value(scrape(collector), "bandmaster_ledger_lag_entries") == 3
    catch_up(consumer)
    assert value(scrape(collector), "bandmaster_ledger_lag_entries") == 0


def test_entries_that_nobody_read_are_counted_for_ever(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading, redis_client: redis.Redis
) -> None:
    collector = FiguresCollector(queue, database, gates=20)
    catch_up(consumer)
    assert value(scrape(collector), "bandmaster_ledger_missed_entries_total") == 0
    for names, missed in (("abc", 2), ("def", 4)):
        send(queue, *names)
        redis_client.xtrim("exec_queue:journal", maxlen=1, approximate=False)
        catch_up(consumer)
        catch_up(consumer)
        assert value(scrape(collector), "bandmaster_ledger_missed_entries_total") == missed
        # As retention does.
        reading.change("DELETE FROM gaps")


def test_without_redis_the_totals_are_served(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    send(queue, "a")
    catch_up(consumer)
    away = Engine(Scripts(redis.Redis(port=1), Keys("exec_queue"), deadline_seconds=0.1))
    series = scrape(FiguresCollector(away, database, gates=20))
    assert value(series, "queue_enqueue_total") == 1
    assert (value(series, "bandmaster_redis_up"), value(series, "bandmaster_ledger_up")) == (0, 1)
    assert "queue_depth" not in names_of(series), "a depth that is not known is not 0"


def test_without_the_ledger_the_gauges_are_served(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading
) -> None:
    send(queue, "a")
    catch_up(consumer)
    reading.change("DROP TABLE totals")
    series = scrape(FiguresCollector(queue, database, gates=20))
    assert value(series, "queue_depth") == 1
    assert (value(series, "bandmaster_redis_up"), value(series, "bandmaster_ledger_up")) == (1, 0)
    assert "queue_enqueue_total" not in names_of(series), "a counter that is not known did not restart at 0"
