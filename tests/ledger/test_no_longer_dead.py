"""A dead letter whose time is over is none in the ledger either: it is deleted as any end, no rebuild revives it."""

import pytest
import redis
from keeping import DAY_MS, counts, forget
from ledger_reading import Reading, catch_up
from redis_work import restore_snapshot, send, snapshot

from bandmaster.ledger.batch import Batch
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.executions import Execution
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.ledger.retention import Kept
from bandmaster.scheduler.engine.journal import JournalEntry, Verb
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

JOURNAL = "exec_queue:journal"
WEEK_MS = 7 * DAY_MS


def bury(queue: ExecutionQueueService, *names: str) -> None:
    for name in names:
        send(queue, name)
        (grant,) = queue.transitions.admit(("executions",), 1).grants
        queue.transitions.release(name, grant.attempt, State.FAILED, result=b'{"exit_code": 1}', dead=True)


def make_older(queue: ExecutionQueueService, reading: Reading, name: str, by_ms: int) -> None:
    """As if it had ended so long before."""
    reading.change(f"UPDATE executions SET ended_ms = ended_ms - {by_ms} WHERE execution_id = '{name}'")
    reading.change(f"UPDATE transitions SET at_ms = at_ms - {by_ms} WHERE execution_id = '{name}'")
    queue.scripts.client.zincrby("exec_queue:dead", -by_ms, name)


def are_dead(reading: Reading) -> list[str]:
    rows = reading.rows("SELECT execution_id FROM executions WHERE dead ORDER BY execution_id")
    return [row["execution_id"] for row in rows]


def lose_unread(redis_client: redis.Redis, consumer: Consumer) -> None:
    """Entries are dropped unread, so all is compared with Redis."""
    redis_client.xadd(JOURNAL, {"foo": "bar"})
    redis_client.xtrim(JOURNAL, maxlen=0, approximate=False)
    for _ in range(2):
        catch_up(consumer)


@pytest.mark.parametrize("has_record", [False, True], ids=["record gone", "record there"])
def test_its_row_payload_and_result_are_deleted_as_of_any_other_end(
    has_record: bool,
    queue: ExecutionQueueService,
    consumer: Consumer,
    database: Database,
    reading: Reading,
    redis_client: redis.Redis,
) -> None:
    bury(queue, "x")
    catch_up(consumer)
    assert are_dead(reading) == ["x"]
    redis_client.zincrby("exec_queue:dead", -WEEK_MS, "x")
    reading.change(f"UPDATE executions SET ended_ms = ended_ms - {WEEK_MS}")
    if not has_record:
        redis_client.delete("exec_queue:meta:x", "exec_queue:event:x", "exec_queue:result:x")
    queue.maintenance.sweep()
    catch_up(consumer)
    (row,) = reading.rows("SELECT dead, state, attempt, action, band FROM executions")
    assert not row["dead"]
    assert (row["state"], row["attempt"], row["action"], row["band"]) == ("FAILED", 1, "pod", 2)
    keeper = Book(database, queue="exec_queue", holder="this test")
    assert keeper.take()
    assert forget(keeper, Kept(ms=DAY_MS, payloads_ms=DAY_MS), queue.views.server_time_ms())
    assert not any(counts(reading).values())


def test_what_is_told_of_an_unknown_id_makes_no_row() -> None:
    batch = Batch(1, {})
    for verb in (Verb.DROP, Verb.FORGET):
        batch.add([JournalEntry("2-0", verb, "x", 2, {"attempt": "0", "lane": "", "band": "", "dead_at": "1"})])
    assert not batch.changed
    assert not batch.executions
    assert not batch.transitions, "nothing would ever delete it"


def test_a_record_that_was_lost_takes_no_attempt_with_it() -> None:
    lost = Execution("x", lane="executions", action="pod", state="RUNNING", attempt=3)
    assert lost.apply(JournalEntry("2-0", Verb.FORGET, "x", 2, {"attempt": "0", "lane": "executions", "band": ""}))
    assert (lost.attempt, lost.lost_ms) == (3, 2)


@pytest.mark.parametrize(("dead_at", "is_its"), [("99", False), ("100", True), ("150", True), (None, False)])
def test_a_drop_is_that_of_its_own_end(dead_at: str | None, is_its: bool) -> None:
    """Not of an earlier one, nor of an outbox's entry; a letter may be one only since its end was told."""
    letter = Execution("x", action="pod", state="FAILED", attempt=2, band=1, ended_ms=100, dead=True)
    fields = {"attempt": "0", "band": "", "state": ""} | ({} if dead_at is None else {"dead_at": dead_at})
    assert letter.apply(JournalEntry("2-0", Verb.DROP, "x", 200, fields)) is is_its
    assert (letter.dead, letter.attempt, letter.band, letter.state) == (not is_its, 2, 1, "FAILED")


def test_one_of_which_the_ledger_missed_that_its_time_was_over_is_found(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    bury(queue, "over", "young")
    catch_up(consumer)
    make_older(queue, reading, "over", WEEK_MS)
    for name in ("over", "young"):
        redis_client.delete(f"exec_queue:meta:{name}", f"exec_queue:event:{name}")
    queue.maintenance.sweep()
    lose_unread(redis_client, consumer)
    assert are_dead(reading) == ["young"]


def test_an_emptied_server_keeps_its_letters_and_a_rebuild_those_whose_time_is_not_over(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading, redis_client: redis.Redis
) -> None:
    bury(queue, "over", "six-days", "young")
    catch_up(consumer)
    make_older(queue, reading, "over", WEEK_MS)
    make_older(queue, reading, "six-days", 6 * DAY_MS)
    reading.change("DELETE FROM payloads WHERE execution_id = 'over'")
    redis_client.flushdb()
    for _ in range(3):
        catch_up(consumer)
    assert are_dead(reading) == ["over", "six-days", "young"]
    done = rebuild(queue, database)
    assert not done.not_restored, "what needs no payload is not missed"
    assert set(queue.views.dead()) == {"six-days", "young"}
    day_seconds = DAY_MS // 1000
    for kind in ("meta", "event", "result"):
        assert day_seconds - 60 < int(redis_client.ttl(f"exec_queue:{kind}:six-days")) <= day_seconds  # type: ignore[arg-type]
    assert not redis_client.exists("exec_queue:event:over", "exec_queue:result:over")
    for _ in range(3):
        catch_up(consumer)
    assert are_dead(reading) == ["six-days", "young"]
    (row,) = reading.rows("SELECT state, ended_ms FROM executions WHERE execution_id = 'over'")
    assert row["state"] == State.FAILED
    assert row["ended_ms"] < queue.views.server_time_ms() - WEEK_MS, "when it really ended"


def test_a_rebuild_keeps_the_bound_on_their_number(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading, redis_client: redis.Redis
) -> None:
    bury(queue, "c", "b", "a")
    catch_up(consumer)
    for days, name in enumerate(("a", "b", "c"), start=1):
        make_older(queue, reading, name, days * DAY_MS)
    redis_client.flushdb()
    queue.controls.change_setting("max_dead_messages", 2)
    rebuild(queue, database)
    assert set(queue.views.dead()) == {"a", "b"}
    for _ in range(3):
        catch_up(consumer)
    assert are_dead(reading) == ["a", "b"]


def test_an_older_server_that_drops_an_earlier_letter_costs_no_later_one_of_its_id(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading, redis_client: redis.Redis
) -> None:
    bury(queue, "x")
    redis_client.zincrby("exec_queue:dead", -WEEK_MS, "x")
    redis_client.delete("exec_queue:meta:x", "exec_queue:event:x")
    older = snapshot(redis_client)
    at_ms = queue.views.server_time_ms()
    wait_until(lambda: queue.views.server_time_ms() > at_ms, what="another millisecond")
    bury(queue, "x")
    catch_up(consumer)
    restore_snapshot(redis_client, older)
    queue.maintenance.sweep()
    for _ in range(3):
        catch_up(consumer)
    assert are_dead(reading) == ["x"]
    rebuild(queue, database, merge=True)
    assert queue.views.dead() == ["x"]


def test_of_what_was_refused_the_gates_are_known(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    queue.transitions.bury(
        Candidate("x", "mails", 2, "mail", user_id="ann", gates=("tenant:acme",), message=b"m"), "full"
    )
    catch_up(consumer)
    (row,) = reading.rows("SELECT lane, action, user_id, gates, dead FROM executions")
    assert tuple(row.values()) == ("mails", "mail", "ann", "tenant:acme", 1)
