"""What an execution needs to run, and what it left, is kept beside its row, and never that of a namesake."""

import json

import pytest
from ledger_reading import Reading, catch_up

from bandmaster.ledger import fetching
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.reconciling import Living
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

DAY_MS = 24 * 3600 * 1000


def send(queue: ExecutionQueueService, name: str, *command: str) -> ExecutionRequestedEvent:
    event = ExecutionRequestedEvent(execution_id=name, command=command or ("true",))
    queue.enqueue(event)
    return event


def end(queue: ExecutionQueueService, name: str, result: bytes = b"") -> None:
    (grant,) = queue.transitions.admit(("executions",), 1).grants
    assert grant.execution_id == name
    queue.transitions.release(name, grant.attempt, State.COMPLETED, result=result)


def message(name: str, text: bytes) -> Candidate:
    return Candidate(execution_id=name, lane="mails", band=2, action="mail", message=text, timeout_ms=5000)


def test_an_event_is_kept_with_its_execution_and_beyond_its_end(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    event = send(queue, "a", "echo", "hello")
    catch_up(consumer)
    end(queue, "a", json.dumps({"exit_code": 3, "output_tail": "hello\n"}).encode())
    catch_up(consumer)
    (kept,) = reading.rows("SELECT * FROM payloads")
    assert ExecutionRequestedEvent.from_any(bytes(kept["event"])) == event
    assert kept["message"] is None
    assert kept["timeout_ms"] > 0
    assert reading.one("SELECT exit_code FROM executions") == 3
    assert json.loads(bytes(reading.one("SELECT result FROM results")))["output_tail"] == "hello\n"


def test_a_name_that_is_used_again_keeps_nothing_of_its_first_execution(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    send(queue, "a", "first")
    catch_up(consumer)
    end(queue, "a", b'{"exit_code": 1}')
    catch_up(consumer)
    queue.scripts.client.delete("exec_queue:meta:a", "exec_queue:result:a")  # as a day later
    send(queue, "a", "second")
    end(queue, "a")
    catch_up(consumer)
    assert reading.rows("SELECT * FROM payloads") == [], "it had ended before its entry was read"
    assert reading.rows("SELECT * FROM results") == []
    assert reading.one("SELECT exit_code FROM executions") is None


def test_a_gated_actors_message_is_kept_only_if_it_is_asked_for(
    queue: ExecutionQueueService, database: Database, reading: Reading
) -> None:
    for keeps in (False, True):
        consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test"), keep_messages=keeps)
        assert consumer.begin()
        queue.transitions.park(message(f"kept: {keeps}", b"\x00\xff not text"))
        catch_up(consumer)
    (kept,) = reading.rows("SELECT * FROM payloads")
    assert (kept["execution_id"], bytes(kept["message"]), kept["timeout_ms"]) == (
        "kept: True",
        b"\x00\xff not text",
        5000,
    )


def test_a_retry_keeps_the_message_that_it_left(
    queue: ExecutionQueueService, database: Database, reading: Reading
) -> None:
    consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test"), keep_messages=True)
    assert consumer.begin()
    queue.transitions.park(message("a", b"first try"))
    catch_up(consumer)
    (grant,) = queue.transitions.admit(("mails",), 1).grants
    queue.transitions.settle(Retry("a", grant.attempt, "retry", message=b"second try"))
    catch_up(consumer)
    assert bytes(reading.one("SELECT message FROM payloads")) == b"second try"


def test_nothing_is_kept_of_payloads_if_the_settings_say_so(
    queue: ExecutionQueueService, database: Database, reading: Reading
) -> None:
    consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test"), keep_payloads=False)
    assert consumer.begin()
    send(queue, "a")
    catch_up(consumer)
    assert reading.one("SELECT count(*) FROM executions") == 1
    assert reading.one("SELECT count(*) FROM payloads") == 0


def test_large_payloads_are_written_in_parts(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "_A_TRIP", 2)
    monkeypatch.setattr(fetching, "_BYTES_A_PAGE", 3000)
    for number in range(7):
        send(queue, f"large-{number}", "x" * 2000)
    assert [consumer.step() for _ in range(5)] == [2, 2, 2, 1, 0]
    assert reading.one("SELECT count(*) FROM payloads") == 7
    assert reading.one("SELECT count(*) FROM transitions") == 7


def test_what_lived_before_the_ledger_was_begun_has_its_payload_too(
    queue: ExecutionQueueService, database: Database, reading: Reading
) -> None:
    send(queue, "a", "earlier")
    queue.scripts.client.delete("exec_queue:journal")
    consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test"))
    assert consumer.begin()
    catch_up(consumer)
    assert json.loads(bytes(reading.one("SELECT event FROM payloads")))["command"] == ["earlier"]
    assert reading.one("SELECT score FROM executions") == queue.scripts.client.zscore("exec_queue:pending", "a")


def test_large_payloads_of_what_lived_before_are_taken_over_in_parts(
    queue: ExecutionQueueService, database: Database, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much there is of them, no more is in memory than a transaction can take and what a trip brings."""
    monkeypatch.setattr(fetching, "_A_TRIP", 2)
    monkeypatch.setattr(fetching, "_BYTES_A_PAGE", 3000)
    for number in range(7):
        send(queue, f"large-{number}", "x" * 2000)
    queue.scripts.client.delete("exec_queue:journal")
    book = Book(database, queue="exec_queue", holder="this test")
    assert Consumer(queue, book).begin()
    pages: list[int] = []
    done = book.reconcile(
        Living(queue, fetching.Fetching(queue, keep_payloads=True, keep_messages=False)),
        queue.views.server_time_ms(),
        lambda: pages.append(reading.one("SELECT count(*) FROM payloads")),
    )
    assert pages == [2, 4, 6, 7]
    assert done.taken_over == reading.one("SELECT count(*) FROM executions") == 7


def test_scores_follow_an_execution_through_its_moves(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    send(queue, "a")
    queue.update_priority("a", "HIGH")
    catch_up(consumer)
    assert reading.one("SELECT score FROM executions") == queue.scripts.client.zscore("exec_queue:pending", "a")
    (grant,) = queue.transitions.admit(("executions",), 1).grants
    queue.retry("a", grant.attempt, delay_ms=DAY_MS)
    catch_up(consumer)
    due = float(queue.scripts.client.hget("exec_queue:meta:a", "due"))
    assert reading.one("SELECT due_ms FROM executions") == int(due)


def test_a_pod_is_known_by_its_uid(queue: ExecutionQueueService, consumer: Consumer, reading: Reading) -> None:
    send(queue, "a")
    (grant,) = queue.transitions.admit(("executions",), 1).grants
    queue.transitions.hand_over("a", grant.attempt, "the-pod", "its-uid")
    catch_up(consumer)
    assert reading.rows("SELECT pod, pod_uid FROM executions") == [{"pod": "the-pod", "pod_uid": "its-uid"}]
