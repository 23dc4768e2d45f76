"""The tests that seed 3 asks for, on real processes: two schedulers at once, and an outage of Redis."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ledger_reading import Reading, catch_up
from proxy import Proxy

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.engine.journal import Verb
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of
from faults_process.installation import Installation
from faults_process.test_scheduler_failover import leader
from waiting import wait_until

pytestmark = pytest.mark.slow

COUNT = 300


def schedule(queue: ExecutionQueueService, names: list[str], seconds: float) -> None:
    due = datetime.fromtimestamp(queue.views.server_time_ms() / 1000, UTC) + timedelta(seconds=seconds)
    for name in names:
        queue.enqueue(ExecutionRequestedEvent(execution_id=name, command=("true",), scheduled_at=due))


def promotions(queue: ExecutionQueueService) -> Counter[str | None]:
    return Counter(each.execution_id for each in queue.journal.entries() if each.verb == Verb.PROMOTE)


def test_two_schedulers_at_once_queue_each_once_in_redis_and_in_the_ledger(
    installation: Installation, tmp_path: Path
) -> None:
    queue, names = installation.queue, [f"t{number}" for number in range(COUNT)]
    for _ in range(2):
        installation.members.scheduler(ready=None)  # they come at the same time, while things fall due
    schedule(queue, names, 3.0)
    wait_until(lambda: queue.views.status().queue_depth == COUNT, what="all of them wait")
    promoted = promotions(queue)
    assert set(promoted.values()) == {1}, "each once; what a busy machine sent late was due at once"
    assert sorted(queue.views.pending(COUNT + 1)) == sorted(names)
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    upgrade(database)
    consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test"))
    assert consumer.begin()
    catch_up(consumer)
    reading = Reading(database)
    assert reading.one("SELECT count(*) FROM executions WHERE state = 'PENDING'") == COUNT
    found = reading.rows("SELECT execution_id FROM transitions WHERE verb = 'promote'")
    assert Counter(row["execution_id"] for row in found) == promoted
    database.close()


def test_an_outage_of_redis_changes_no_state_and_leaves_no_lock(installation: Installation, proxy: Proxy) -> None:
    """The scheduler and a sender reach Redis through a network that goes away; the test looks from the other side."""
    queue = installation.queue
    scheduler = installation.members.scheduler(url=installation.through(proxy))
    wait_until(lambda: leader(installation) is not None, what="a leader")
    led = leader(installation)
    proxy.swallows = True  # before what it must not promote falls due
    schedule(queue, ["due"], 2.0)
    with client_of(installation.through(proxy), socket_timeout_seconds=1) as cut_off:
        sender = ExecutionQueueService(cut_off, deadline_seconds=1.0)
        with pytest.raises(QueueUnavailable):
            schedule(sender, ["never"], 0.1)
    wait_until(lambda: leader(installation) is None, what="the TTL's end")
    due_ms = int(queue.views.meta("due")["due"])
    wait_until(lambda: queue.views.server_time_ms() > due_ms, what="its due time")
    assert queue.views.meta("due")["state"] == State.SCHEDULED, "nobody could say otherwise"
    assert queue.views.scheduled(10) == ["due"]
    assert queue.views.meta("never") == {}
    keys: list[bytes] = installation.client.keys("exec_queue:lock:*")  # type: ignore[assignment]
    assert keys == []
    proxy.swallows = False
    wait_until(lambda: queue.views.meta("due")["state"] == State.PENDING, what="its promotion")
    assert promotions(queue) == Counter(["due"])
    again = wait_until(lambda: leader(installation), what="a leader again")
    assert led is not None
    assert again is not None
    assert again[0] > led[0], "it was elected anew"
    assert scheduler.process.poll() is None
