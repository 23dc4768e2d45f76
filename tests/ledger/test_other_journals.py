"""The consumer notices what a plain XREAD would pass over: dropped entries, an emptied server, older data."""

import threading
from datetime import UTC, datetime

import pytest
import redis
from ledger_reading import Reading, catch_up

from bandmaster.ledger import reconciling
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.executions import Execution, Place
from bandmaster.ledger.figures import moment
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.ledger.reconciling import Living
from bandmaster.scheduler.engine.journal import JournalEntry, Verb
from bandmaster.scheduler.engine.journal_following import START, Follower, Position
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

JOURNAL = "exec_queue:journal"


def send(queue: ExecutionQueueService, *names: str) -> None:
    for name in names:
        queue.enqueue(ExecutionRequestedEvent(execution_id=name, action="resize", command=("true",)))


def dumped(redis_client: redis.Redis, pattern: str) -> dict[bytes | str, bytes]:
    found = {key: redis_client.dump(key) for key in redis_client.keys(pattern)}
    return {key: value for key, value in found.items() if value is not None}


def read_moment(stored: datetime | str) -> datetime:
    """SQLite keeps a time as a text in UTC."""
    return stored if isinstance(stored, datetime) else datetime.fromisoformat(stored).replace(tzinfo=UTC)


def states(reading: Reading) -> dict[str, str]:
    return {row["execution_id"]: row["state"] for row in reading.rows("SELECT * FROM executions")}


def figures(reading: Reading) -> tuple[int, int]:
    (row,) = reading.rows("SELECT queue_length, active_count FROM queue_stats JOIN action ON id = action_id")
    return row["queue_length"], row["active_count"]


def test_entries_that_were_dropped_unread_are_counted_and_what_lives_is_taken_from_redis(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "a", "b")
    catch_up(consumer)
    send(queue, "c", "d")
    granted = queue.try_schedule()
    assert granted is not None
    assert granted[0] == "a"
    redis_client.xtrim(JOURNAL, maxlen=1, approximate=False)
    catch_up(consumer)
    assert reading.rows("SELECT entry_count, missed FROM gaps") == [{"entry_count": 2, "missed": 2}]
    assert states(reading) == {"a": "RUNNING", "b": "PENDING", "c": "PENDING", "d": "PENDING"}
    assert figures(reading) == (3, 1)
    assert reading.one("SELECT is_unsure FROM consumer") == 0
    queue.release("a")
    catch_up(consumer)
    assert figures(reading) == (3, 0)


def test_a_queue_that_is_older_than_its_ledger_is_taken_over(
    queue: ExecutionQueueService, redis_client: redis.Redis, consumer: Consumer, reading: Reading
) -> None:
    # The fixture began to consume an empty journal: from here on it is another one.
    redis_client.flushdb()
    send(queue, "a", "b", "c")
    queue.try_schedule()
    redis_client.xtrim(JOURNAL, maxlen=0, approximate=False)
    catch_up(consumer)
    catch_up(consumer)
    assert reading.rows("SELECT entry_count, missed FROM gaps") == [{"entry_count": 0, "missed": 4}]
    assert states(reading) == {"a": "RUNNING", "b": "PENDING", "c": "PENDING"}
    assert figures(reading) == (2, 1)
    assert reading.one("SELECT count(*) FROM holds WHERE until_ms IS NULL") == 1


def test_a_long_comparison_shows_that_it_lives_and_ends_when_it_is_told_to(
    queue: ExecutionQueueService,
    redis_client: redis.Redis,
    consumer: Consumer,
    database: Database,
    reading: Reading,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A probe ends a process that does not show it, which then would begin again and again."""
    monkeypatch.setattr(reconciling, "_A_TRIP", 2)
    redis_client.flushdb()
    send(queue, *"abcdefg")
    redis_client.xtrim(JOURNAL, maxlen=0, approximate=False)
    stop, seen = threading.Event(), list[int]()

    def beat() -> None:
        seen.append(reading.one("SELECT count(*) FROM executions"))
        if seen[-1] >= 4:
            stop.set()

    consumer.run(stop, beat)
    assert {2, 4} <= set(seen)
    assert reading.one("SELECT count(*) FROM executions") == 4
    assert reading.one("SELECT is_unsure FROM consumer") == 1
    the_next = Consumer(queue, Book(database, queue="exec_queue", holder="the next"))
    assert the_next.begin()
    catch_up(the_next)
    assert states(reading) == dict.fromkeys("abcdefg", "PENDING")
    assert reading.one("SELECT is_unsure FROM consumer") == 0


def test_what_an_emptied_server_has_lost_is_marked_and_counts_no_more(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "a", "b")
    queue.try_schedule()
    queue.release("a")
    catch_up(consumer)
    redis_client.flushdb()
    send(queue, "c")
    catch_up(consumer)
    catch_up(consumer)
    assert states(reading) == {"a": "COMPLETED", "b": "PENDING", "c": "PENDING"}
    assert [row["execution_id"] for row in reading.rows("SELECT * FROM executions WHERE lost_ms IS NOT NULL")] == ["b"]
    assert figures(reading) == (1, 0)
    of_c = reading.one("SELECT accepted_ms FROM executions WHERE execution_id = 'c'")
    assert read_moment(reading.one("SELECT oldest_enqueued_at FROM queue_stats")) == moment(of_c)
    assert reading.one("SELECT count(*) FROM journals") == 2
    # It is sent again, as its sender is told to.
    send(queue, "b")
    catch_up(consumer)
    assert reading.one("SELECT count(*) FROM executions WHERE lost_ms IS NOT NULL") == 0
    assert figures(reading) == (2, 0)


@pytest.mark.parametrize("goes_on", [False, True], ids=["fewer entries", "as many entries"])
def test_a_server_restored_from_older_data_is_another_journal(
    goes_on: bool, queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    older = dumped(redis_client, "*")
    catch_up(consumer)
    older |= dumped(redis_client, "*incarnation")
    send(queue, "b")
    catch_up(consumer)
    redis_client.flushdb()
    for key, value in older.items():
        redis_client.restore(key, 0, value)
    if goes_on:
        send(queue, "c")
    catch_up(consumer)
    catch_up(consumer)
    assert {row["execution_id"] for row in reading.rows("SELECT * FROM executions WHERE lost_ms IS NOT NULL")} == {"b"}
    assert figures(reading) == (2 if goes_on else 1, 0)
    assert states(reading) == {"a": "PENDING", "b": "PENDING"} | ({"c": State.PENDING} if goes_on else {})
    assert reading.one("SELECT count(*) FROM transitions") == (3 if goes_on else 2), "what was read is not read again"
    assert reading.one("SELECT total_enqueued FROM queue_stats") == (3 if goes_on else 2)


def test_a_change_between_the_last_entry_and_the_comparison_is_told_once(
    queue: ExecutionQueueService,
    consumer: Consumer,
    reading: Reading,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows that were taken over are ahead of the entries that follow; these lead to the same end."""
    send(queue, "a", "b")
    catch_up(consumer)
    send(queue, "c")
    queue.try_schedule()
    redis_client.xtrim(JOURNAL, maxlen=1, approximate=False)
    ids = Living.ids

    def ids_after_more(living: Living) -> set[str]:
        queue.retry("a", 1)
        queue.try_schedule()
        return ids(living)

    with monkeypatch.context() as patch:
        patch.setattr(Living, "ids", ids_after_more)
        catch_up(consumer)
    assert figures(reading) == (2, 1)
    assert reading.rows("SELECT attempt FROM holds WHERE until_ms IS NULL AND gate LIKE 'action:%'") == [{"attempt": 2}]
    queue.release("a")
    catch_up(consumer)
    assert figures(reading) == (2, 0)
    assert reading.one("SELECT count(*) FROM holds WHERE until_ms IS NULL") == 0
    assert reading.one("SELECT total_completed FROM queue_stats") == 1


def test_a_journal_with_fewer_entries_than_were_dropped_unread_is_another_one(queue: ExecutionQueueService) -> None:
    follower = Follower(queue.scripts)
    send(queue, "a")
    begun = follower.begin()
    assert follower.read(begun, 10) is not None
    assert follower.read(Position(begun.incarnation, START, 4), 10) is None


def test_an_execution_that_was_lost_is_found_again_by_an_entry_that_names_it() -> None:
    lost = Execution("a", lane="executions", action="mail", state="PENDING", lost_ms=1)
    assert lost.place is Place.NOWHERE
    assert lost.apply(JournalEntry("2-0", Verb.ADMIT, "a", 2, {"attempt": "1", "state": "RUNNING"}))
    assert lost.place is Place.ACTIVE


def test_the_forgotten_grant_of_an_earlier_execution_changes_nothing_of_the_one_that_has_its_name() -> None:
    living = Execution("a", lane="executions", action="mail", state="PENDING")
    assert not living.apply(JournalEntry("2-0", Verb.FORGET, "a", 2, {"band": "2", "lane": "executions"}))
    assert living.place is Place.WAITING
    assert living.apply(JournalEntry("3-0", Verb.FORGET, "a", 3, {"band": "", "lane": "executions"}))
    assert living.place is Place.NOWHERE


def test_changes_of_operators_among_entries_that_were_dropped_unread_are_taken_from_redis(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    queue.controls.set_limit("action:resize", 4)
    queue.controls.pause("tenant:acme", by="ada")
    catch_up(consumer)
    queue.controls.set_limit("action:resize", 2, by="ada")
    queue.controls.resume("tenant:acme", by="ada")
    send(queue, "b")
    redis_client.xtrim(JOURNAL, maxlen=1, approximate=False)
    for _ in range(2):
        catch_up(consumer)
    told = reading.rows("SELECT verb, name, value_after FROM changes ORDER BY entry_ms, entry_number")
    assert [tuple(row.values()) for row in told] == [
        ("limit", "action:resize", "4"),
        ("pause", "tenant:acme", "paused"),
        ("limit", "action:resize", "2"),
        ("resume", "tenant:acme", None),
    ]
    assert reading.one("SELECT max_concurrent FROM queue_stats") == 2


def test_what_ended_among_entries_that_were_dropped_unread_is_not_run_again(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis, database: Database
) -> None:
    send(queue, "ended", "waits")
    catch_up(consumer)
    queue.try_schedule()
    queue.release("ended")
    redis_client.delete("exec_queue:meta:ended", "exec_queue:end:ended")  # as when its time to be known is over
    redis_client.xtrim(JOURNAL, maxlen=0, approximate=False)
    send(queue, "later")
    catch_up(consumer)
    catch_up(consumer)
    (row,) = reading.rows("SELECT state, lost_ms, ended_ms FROM executions WHERE execution_id = 'ended'")
    assert row["state"] == State.PENDING
    assert row["lost_ms"] == row["ended_ms"] is not None
    redis_client.flushdb()
    done = rebuild(queue, database)
    assert done.restored == {State.PENDING: 2}
    assert done.not_restored == {"ended": "it was PENDING on lane executions, and its end was dropped unread"}
    assert set(queue.views.pending()) == {"waits", "later"}


def test_what_an_emptied_server_has_lost_is_restored_though_its_end_might_have_been_unread(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis, database: Database
) -> None:
    send(queue, "lost")
    catch_up(consumer)
    redis_client.flushdb()
    send(queue, "other")
    for _ in range(3):
        catch_up(consumer)
    assert reading.one("SELECT count(*) FROM executions WHERE lost_ms IS NOT NULL AND ended_ms IS NULL") == 1
    rebuild(queue, database, merge=True)
    assert set(queue.views.pending()) == {"lost", "other"}
    catch_up(consumer)
    assert reading.one("SELECT count(*) FROM executions WHERE lost_ms IS NOT NULL") == 0
