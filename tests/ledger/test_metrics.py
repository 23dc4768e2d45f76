"""A scrape tells what Redis and the ledger know, by the names that people's queries use, and what is away."""

import redis
from ledger_reading import Reading, catch_up
from random_operators import Operators
from scraped import Series, scrape, value

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.metrics.collecting import FiguresCollector
from bandmaster.scheduler.engine.engine import Engine
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.keys import Keys
from bandmaster.scheduler.model.priority import BAND_WIDTH_MS, Priority
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.scripts import Scripts
from bandmaster.scheduler.workers import Workers, WorkerSigned

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


def test_what_rates_keep_closed_and_who_takes_turns_in_a_fair_lane(
    queue: ExecutionQueueService, database: Database
) -> None:
    queue.shares.share("mails", "user")
    queue.controls.rates.set("action:*", Rate.read("1/h"))
    for name, user in (("a", "ann"), ("b", "ann"), ("c", "bob"), ("d", None)):
        queue.transitions.park(Candidate(name, "mails", int(Priority.LOW), "mail", user, message=b"x"))
    assert len(queue.transitions.admit(("mails",), 4).grants) == 1
    series = scrape(FiguresCollector(queue, database, gates=20))
    assert value(series, "bandmaster_gates_closed_by_rate", lane="mails") == 1
    assert value(series, "bandmaster_gates_closed_by_rate", lane="executions") == 0
    assert value(series, "bandmaster_fair_keys", lane="mails", priority="LOW") == 3, "ann, bob, and nobody"
    assert value(series, "bandmaster_fair_keys", lane="mails", priority="HIGH") == 0
    assert value(series, "bandmaster_fair_keys", lane="executions", priority="LOW") is None
    queue.controls.rates.set("action:*", None)
    series = scrape(FiguresCollector(queue, database, gates=20))
    assert value(series, "bandmaster_gates_closed_by_rate", lane="mails") == 0
    queue.shares.share("mails", None)
    series = scrape(FiguresCollector(queue, database, gates=20))
    assert value(series, "bandmaster_fair_keys", lane="mails", priority="LOW") is None, "an operator made it strict"


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


def test_the_ages_of_what_waits_are_counted_over_all_bands(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    """Each age lies between two boundaries that are far away; the band's part of a score does not matter."""
    send(queue, "new", "minutes", "hours")
    queue.update_priority("minutes", Priority.BACKGROUND)
    now_ms, pending = queue.views.server_time_ms(), "exec_queue:pending"
    places = {"new": (2, 20_000), "minutes": (4, 120_000), "hours": (2, 7_200_000)}
    for name, (band, age_ms) in places.items():
        queue.scripts.client.zadd(pending, {name: band * BAND_WIDTH_MS + now_ms - age_ms})
    series = scrape(FiguresCollector(queue, database, gates=0))
    bounds = ("10.0", "30.0", "60.0", "300.0", "3600.0", "+Inf")
    name = "bandmaster_waiting_age_seconds_bucket"
    assert [value(series, name, lane="executions", le=bound) for bound in bounds] == [0, 1, 1, 2, 2, 3]
    oldest = value(series, "bandmaster_oldest_wait_seconds", lane="executions")
    assert oldest is not None
    assert oldest >= 7_200


def test_pauses_and_bounds_have_series(queue: ExecutionQueueService, consumer: Consumer, database: Database) -> None:
    queue.transitions.park(Candidate("mail", "mails", 2, "mail", message=b"hello"))
    queue.controls.pause("lane:mails")
    queue.controls.pause("tenant:acme")
    queue.controls.pause("zone:z")
    queue.controls.set_limit("action:resize", 1)
    queue.controls.change_setting("max_concurrent_executions", 3, lane="mails")
    series = scrape(FiguresCollector(queue, database, gates=2))
    paused = {dict(labels)["gate"]: number for (name, labels), number in series.items() if name == "bandmaster_paused"}
    assert paused == {
        "*": 0,
        "lane:executions": 0,
        "lane:mails": 1,
        "action:resize": 0,
        "tenant:acme": 1,
        "zone:z": 1,
    }
    assert value(series, "bandmaster_limit") is None, "none is no number"
    assert value(series, "bandmaster_active_limit", lane="executions") == 10
    assert value(series, "bandmaster_active_limit", lane="mails") == 3
    assert value(series, "bandmaster_queue_size_limit", lane="executions") == 10_000
    assert value(series, "bandmaster_queue_size_limit", lane="mails") is None
    queue.controls.change_setting("max_concurrent", 50)
    queue.controls.pause("*")
    series = scrape(FiguresCollector(queue, database, gates=0))
    assert (value(series, "bandmaster_limit"), value(series, "bandmaster_paused", gate="*")) == (50, 1)
    assert value(series, "bandmaster_paused", gate="zone:z") is None, "no more gates than metrics.gates"


def test_workers_with_their_threads_and_pods_are_counted(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    send(queue, "a", "b")
    workers = Workers(queue.scripts)
    for number, stopping in ((1, False), (2, True)):
        workers.sign(
            WorkerSigned(
                worker_id=f"w-{number}",
                host="here",
                pid=number,
                release="1",
                since_ms=number,
                threads=8,
                busy=number,
                lanes=() if stopping else ("executions",),
                running=(),
                stopping=stopping,
            )
        )
    assert queue.try_schedule()
    queue.transitions.hand_over("a", 1, "pod-of-a", "uid")
    catch_up(consumer)
    series = scrape(FiguresCollector(queue, database, gates=20))
    names = ("workers", "workers_stopping", "threads", "threads_busy", "pods")
    assert [value(series, f"bandmaster_{name}") for name in names] == [2, 1, 16, 3, 1]
    assert value(series, "bandmaster_lane_threads", lane="executions") == 8
    assert value(series, "bandmaster_handed_over_total", lane="executions") == 1


def test_actions_have_the_totals_of_their_life(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    send(queue, "a", "b")
    queue.enqueue(ExecutionRequestedEvent(execution_id="c", action="rare", command=("true",)))
    queue.cancel("a")
    for bound, others in ((2, 1), (1, None), (0, None)):
        series = scrape(FiguresCollector(queue, database, gates=bound))
        assert value(series, "bandmaster_action_enqueued_total", action="resize") == (2 if bound else None)
        assert value(series, "bandmaster_action_completed_total", action="resize") == (1 if bound else None)
        assert value(series, "bandmaster_action_enqueued_total", action="rare") == others


def test_series_are_there_before_they_count_anything(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    """Prometheus sees no increase in a series that begins with what it counts."""
    queue.transitions.park(Candidate("mail", "mails", 2, "mail", message=b"hello"))
    collector = FiguresCollector(queue, database, gates=20)
    before = scrape(collector)
    assert value(before, "bandmaster_accepted_total", lane="mails") == 0, (
        "Redis knows the lane, the ledger does not yet"
    )
    assert value(before, "bandmaster_run_seconds_count", lane="mails") == 0
    operators = Operators(queue, 7)
    for _ in range(150):
        operators.act()
    catch_up(consumer)
    after = scrape(collector)
    # What Redis counts by action begins with its action.
    totals = {one for one in after if one[0].endswith("_total") and not one[0].startswith("bandmaster_action_")}
    counted = {one for one in totals if after[one]}
    assert {"bandmaster_ended_total", "bandmaster_retried_total", "bandmaster_rejected_total"} <= names_of(
        dict.fromkeys(counted, 0.0)
    )
    assert {one for one in counted if one not in before} == set()


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
