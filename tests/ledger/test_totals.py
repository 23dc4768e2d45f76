"""Totals count each transition once, in its own transaction, whatever dies, is read again or is forgotten."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ledger_reading import Reading, catch_up
from random_operators import Operators

from bandmaster.k8s.phases import Reason
from bandmaster.ledger import book as book_module
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerUnavailable, NotConsumer
from bandmaster.ledger.totals import REASONS
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

LANE = {"lane": "executions"}


def send(queue: ExecutionQueueService, *names: str) -> None:
    for name in names:
        queue.enqueue(ExecutionRequestedEvent(execution_id=name, action="resize", command=("true",)))


def total(reading: Reading, metric: str, **labels: str) -> int:
    """The sum over the buckets of a metric; 0: it has no row."""
    rows = reading.rows("SELECT * FROM totals WHERE metric = :metric AND bucket <> 'sum'", metric=metric)
    return sum(row["value"] for row in rows if json.loads(row["labels"]) == labels)


def by_verb(queue: ExecutionQueueService) -> Counter[str]:
    return Counter(entry.verb for entry in queue.journal.entries())


def test_each_transition_is_counted(queue: ExecutionQueueService, consumer: Consumer, reading: Reading) -> None:
    send(queue, "a", "b", "c")
    first, second = queue.try_schedule(), queue.try_schedule()
    assert first
    assert second
    queue.release(first[0])
    queue.release(second[0], state=State.FAILED)
    queue.cancel("c")
    catch_up(consumer)
    assert total(reading, "accepted", **LANE) == 3
    assert total(reading, "granted", **LANE) == total(reading, "wait", **LANE, priority="NORMAL") == 2
    assert total(reading, "run", **LANE) == 2
    assert total(reading, "ended", **LANE, state="COMPLETED", reason="") == 1
    assert total(reading, "ended", **LANE, state="FAILED", reason="") == 1
    assert total(reading, "ended", **LANE, state="CANCELLED", reason="cancelled") == 1


def test_buckets_and_sum_are_the_waits_of_the_journal(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    send(queue, *(f"e-{number}" for number in range(8)))
    while queue.try_schedule():
        pass
    catch_up(consumer)
    waits = [int(entry.fields["waited_ms"]) for entry in queue.journal.entries() if entry.verb == "admit"]
    assert len(waits) == 8
    assert reading.one("SELECT value FROM totals WHERE metric = 'wait' AND bucket = 'sum'") == sum(waits)
    up_to_5 = reading.rows("SELECT value FROM totals WHERE metric = 'wait' AND bucket = '5'")
    assert sum(row["value"] for row in up_to_5) == sum(wait <= 5 for wait in waits)


def test_a_page_that_is_written_again_is_counted_once(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(queue, "a", "b")
    write = book_module.write

    def fail(*arguments: Any) -> None:
        write(*arguments)
        raise LedgerUnavailable("the disk is full", url="sqlite://")

    with monkeypatch.context() as patch:
        patch.setattr(book_module, "write", fail)
        with pytest.raises(LedgerUnavailable):
            consumer.step()
    assert reading.one("SELECT count(*) FROM totals") == 0
    assert consumer.begin()
    catch_up(consumer)
    assert total(reading, "accepted", **LANE) == 2


def test_a_second_consumer_counts_nothing_again(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading
) -> None:
    send(queue, "a")
    catch_up(consumer)
    other = Consumer(queue, Book(database, queue="exec_queue", holder="another", ttl_ms=-1))
    assert other.begin()
    send(queue, "b")
    catch_up(other)
    with pytest.raises(NotConsumer):
        consumer.step()
    assert total(reading, "accepted", **LANE) == by_verb(queue)["park"] == 2


def test_refusals_are_counted_with_those_told_in_numbers(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    send(queue, "a")
    queue.transitions.park_many([Candidate("a", "executions", 2, "resize", message=b"hello")] * 5)
    catch_up(consumer)
    (reason,) = {entry.fields["reason"] for entry in queue.journal.entries() if entry.verb == "reject"}
    assert total(reading, "rejected", reason=reason) == 5
    queue.scripts.client.xadd(
        "exec_queue:journal", {"verb": "reject", "id": "", "at": "1", "reason": reason, "count": "40"}
    )
    catch_up(consumer)
    assert total(reading, "rejected", reason=reason) == 45


def test_what_goes_from_the_history_stays_counted(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    """A server that lost its data and came back empty: reconciling finds executions lost, and counts nothing."""
    send(queue, "a", "b")
    catch_up(consumer)
    queue.scripts.client.flushdb()
    catch_up(consumer)
    send(queue, "c")
    catch_up(consumer)
    assert total(reading, "accepted", **LANE) == 3
    assert total(reading, "ended", **LANE, state="EXPIRED", reason="") == 0


def test_each_reason_of_a_pods_end_has_a_label() -> None:
    assert {reason.value for reason in Reason} <= REASONS


def test_what_was_due_long_ago_is_late_by_that(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    """No consumer asked for a while: 90 s lie between two boundaries that are far away."""
    queue.enqueue(
        ExecutionRequestedEvent(
            execution_id="a", command=("true",), scheduled_at=datetime.now(UTC) + timedelta(seconds=600)
        )
    )
    client, due_ms = queue.scripts.client, queue.views.server_time_ms() - 90_000
    client.hset("exec_queue:meta:a", "due", due_ms)
    client.zadd("exec_queue:scheduled", {"a": due_ms})
    assert queue.maintenance.promote() == 1
    catch_up(consumer)
    (promoted,) = [entry for entry in queue.journal.entries() if entry.verb == "promote"]
    assert promoted.fields["due"] == str(due_ms)
    assert total(reading, "promoted", **LANE) == total(reading, "late", **LANE) == 1
    assert reading.one("SELECT bucket FROM totals WHERE metric = 'late' AND value = 1") == "300000"
    assert reading.one("SELECT value FROM totals WHERE metric = 'late' AND bucket = 'sum'") == promoted.at_ms - due_ms


def test_the_turnaround_is_from_acceptance_to_completion(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    """Over all attempts; what failed has none."""
    send(queue, "a", "b")
    assert queue.try_schedule()
    assert queue.try_schedule()
    queue.release("b", state=State.FAILED)
    queue.retry("a", 1)
    assert queue.try_schedule()
    queue.release("a")
    catch_up(consumer)
    at_ms = {(entry.verb, entry.execution_id): entry.at_ms for entry in queue.journal.entries()}
    assert total(reading, "turnaround", **LANE) == 1
    took_ms = at_ms["release", "a"] - at_ms["park", "a"]
    assert reading.one("SELECT value FROM totals WHERE metric = 'turnaround' AND bucket = 'sum'") == took_ms


@pytest.mark.parametrize("seed", [3, 4])
def test_totals_are_the_entries_of_a_random_history(
    seed: int, queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    operators = Operators(queue, seed)
    for _ in range(200):
        operators.act()
    catch_up(consumer)
    entries = list(queue.journal.entries())
    told = Counter(entry.verb for entry in entries)
    assert min(told["hand_over"], told["retry"], told["admit"]) > 0
    rows = reading.rows("SELECT metric, bucket, value FROM totals WHERE bucket <> 'sum'")
    sums = Counter[str]()
    for row in rows:
        sums[row["metric"]] += row["value"]
    names = {"accepted": "park", "promoted": "promote", "granted": "admit", "retried": "retry", "reaped": "reap"}
    names |= {"handed_over": "hand_over", "handed_back": "hand_back", "wait": "admit"}
    assert {name: sums[name] for name in names} == {name: told[verb] for name, verb in names.items()}
    completed = [entry for entry in entries if entry.verb == "release" and entry.fields["state"] == "COMPLETED"]
    assert sums["turnaround"] == len(completed)
