"""A user is forgotten: nothing in Redis, SQL or the journal names it, whatever dies on the way; others keep all."""

from collections.abc import Callable
from typing import Any

import pytest
from forgotten import OTHER, SECRET, USER, fill, found_in_redis, found_in_sql
from ledger_reading import Reading
from sqlalchemy import Connection, insert, select

from bandmaster.ledger import forgetting
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import JournalUnread, UserHasWork
from bandmaster.ledger.forgetting import Forgotten, catch_up, forget
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.ledger.schema.tables import wait_counts, wait_sums
from bandmaster.ledger.waits.sums import rename_user
from bandmaster.scheduler.engine.erasing import Erasing
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

OF_USER = "SELECT execution_id FROM executions WHERE user_id = :user"


def is_forgotten(client: Any, database: Database) -> None:
    # The last answers to callers are kept for minutes.
    for key in client.scan_iter("exec_queue:reply:*"):
        client.delete(key)
    assert found_in_redis(client, USER) == []
    assert found_in_sql(database, USER) == []


def rows_of(reading: Reading, user: str) -> dict[str, list[dict[str, Any]]]:
    return {
        "executions": reading.rows("SELECT * FROM executions WHERE user_id = :user ORDER BY 1", user=user),
        "payloads": reading.rows(
            "SELECT p.* FROM payloads p JOIN executions e USING (execution_id) WHERE user_id = :user ORDER BY 1",
            user=user,
        ),
        "results": reading.rows(
            "SELECT r.* FROM results r JOIN executions e USING (execution_id) WHERE user_id = :user ORDER BY 1",
            user=user,
        ),
        "changes": reading.rows("SELECT * FROM changes WHERE name = :gate ORDER BY 1, 2, 3", gate=f"user:{user}"),
        "holds": reading.rows("SELECT * FROM holds WHERE gate = :gate ORDER BY 1, 2", gate=f"user:{user}"),
    }


def forgotten(queue: ExecutionQueueService, database: Database, **options: Any) -> Forgotten:
    return forget(queue, database, USER, by="operator@host", **options)


@pytest.mark.usefixtures("consuming")
def test_nothing_names_a_forgotten_user_and_others_keep_everything(
    queue: ExecutionQueueService, database: Database, reading: Reading, redis_client: Any
) -> None:
    fill(queue, USER)
    fill(queue, OTHER, lives=True)
    catch_up(queue, database)
    assert found_in_redis(redis_client, USER)
    assert found_in_sql(database, USER)
    before, count = rows_of(reading, OTHER), reading.one("SELECT count(*) FROM executions")
    assert all(before.values())
    of_other = {key: redis_client.dump(key) for key in redis_client.scan_iter(f"exec_queue:*-of-{len(OTHER)}")}

    done = forgotten(queue, database)
    assert (done.executions, done.tokens) == (4, 0)
    assert done.struck > 0
    is_forgotten(redis_client, database)
    assert rows_of(reading, OTHER) == before
    assert reading.one("SELECT count(*) FROM executions") == count
    after = {key: redis_client.dump(key) for key in redis_client.scan_iter(f"exec_queue:*-of-{len(OTHER)}")}
    assert after == of_other
    assert queue.controls.limits() == {f"user:{OTHER}": 5}
    assert list(queue.controls.rates.all()) == [f"user:{OTHER}"]
    assert queue.shares.weights() == {f"user:{OTHER}": 3}
    mine = rows_of(reading, done.pseudonym)
    assert len(mine["executions"]) == 4
    assert (mine["payloads"], mine["results"]) == ([], [])
    assert mine["holds"]
    (audited,) = {row["changed_by"] for row in mine["changes"] if row["verb"] == "erase"}
    assert audited == "operator@host"
    assert {row["changed_by"] for row in mine["changes"] if row["verb"] == "pause"} == {done.pseudonym}
    # What was known to Redis is still known, without the user.
    with pytest.raises(DuplicateExecution):
        queue.enqueue({"execution_id": f"done-of-{len(USER)}", "command": ["true"]})


@pytest.mark.usefixtures("consuming")
def test_sums_of_waits_have_the_pseudonym(
    queue: ExecutionQueueService, database: Database, reading: Reading, redis_client: Any
) -> None:
    queue.controls.set_limit(f"user:{USER}", 0)
    queue.enqueue({"execution_id": "behind", "command": ["true"], "metadata": {"user_id": USER}})
    begun_ms = queue.views.server_time_ms()
    wait_until(lambda: queue.views.server_time_ms() > begun_ms, what="a millisecond")
    queue.controls.set_limit(f"user:{USER}", 5)
    assert queue.try_schedule()
    queue.release("behind")
    fill(queue, USER)
    fill(queue, OTHER)
    waits = "SELECT name, SUM(waits) AS waits FROM wait_counts WHERE by_what = 'user' GROUP BY name ORDER BY name"
    wait_until(lambda: sum(row["waits"] for row in reading.rows(waits)) == 9, what="sums of all waits")
    sums = "SELECT by_what, cause, SUM(ms) AS ms FROM wait_sums GROUP BY by_what, cause ORDER BY by_what, cause"
    before, counted = reading.rows(sums), [row["waits"] for row in reading.rows(waits)]
    assert any(USER in each for each in found_in_sql(database, USER) if each.startswith("wait_sums"))
    done = forgotten(queue, database)
    is_forgotten(redis_client, database)
    assert reading.rows(sums) == before
    assert sorted(row["waits"] for row in reading.rows(waits)) == sorted(counted)
    named = reading.rows("SELECT DISTINCT behind FROM wait_sums WHERE by_what = 'action' AND cause = 'gate'")
    assert f"user:{done.pseudonym}" in [row["behind"] for row in named]


@pytest.mark.usefixtures("consuming")
def test_waits_that_are_summed_meanwhile_are_added(
    queue: ExecutionQueueService,
    database: Database,
    reading: Reading,
    redis_client: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of executions that have the pseudonym already, before the sums have it."""
    fill(queue, USER)
    waits = "SELECT SUM(waits) FROM wait_counts WHERE by_what = 'user'"
    wait_until(lambda: reading.one(waits) == 4, what="sums of all waits")

    def sum_more(connection: Connection, user_id: str, other: str) -> None:
        for table in (wait_counts, wait_sums):
            rows = connection.execute(
                select(table).where(table.c.by_what == "user", table.c.name == user_id)
            ).mappings()
            connection.execute(insert(table), [{**row, "name": other} for row in rows])
        rename_user(connection, user_id, other)

    monkeypatch.setattr(forgetting, "rename_user", sum_more)
    done = forgotten(queue, database)
    is_forgotten(redis_client, database)
    assert reading.one(f"{waits} AND name = :user", user=done.pseudonym) == 8


@pytest.mark.usefixtures("consuming")
def test_readers_of_the_journal_notice_no_gap(
    queue: ExecutionQueueService, database: Database, reading: Reading
) -> None:
    fill(queue, USER)
    fill(queue, OTHER)
    forgotten(queue, database)
    fill(queue, OTHER + "3")
    follower, end = Follower(queue.scripts), Follower(queue.scripts).end()
    catch_up(queue, database)
    assert reading.rows("SELECT * FROM gaps") == []
    assert reading.one("SELECT count(*) FROM journals") == 1
    page = follower.read(end, 10)
    assert page is not None
    assert (page.entries, page.missed) == ([], 0)


def test_what_died_on_the_way_is_finished_by_the_next_run(
    queue: ExecutionQueueService,
    consuming: None,
    database: Database,
    redis_client: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Killed(BaseException):
        pass

    def dies_after(patched: pytest.MonkeyPatch, of: Any, name: str, calls: int) -> None:
        does: Callable[..., Any] = getattr(of, name)
        left = [calls]

        def dies(*given: Any, **named: Any) -> Any:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return does(*given, **named)

        patched.setattr(of, name, dies)

    monkeypatch.setattr(forgetting, "PAGE", 2)
    fill(queue, USER)
    steps = (
        (Erasing, "erase", 0),
        (Erasing, "erase", 1),
        (forgetting, "_change_page", 0),
        (forgetting, "_change_page", 1),
    )
    for of, name, calls in (*steps, (forgetting, "_change_rest", 0), (Erasing, "_delete", 0)):
        with monkeypatch.context() as patched:
            dies_after(patched, of, name, calls)
            with pytest.raises(Killed):
                forgotten(queue, database)
    forgotten(queue, database)
    is_forgotten(redis_client, database)


@pytest.mark.usefixtures("consuming")
def test_what_the_user_sends_meanwhile_is_left_alone(
    queue: ExecutionQueueService, database: Database, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(queue, USER)
    does = Erasing.erase

    def sends_after(erasing: Erasing, user: str, pseudonym: str, ids: list[str], *, by: str) -> int:
        erased = does(erasing, user, pseudonym, ids, by=by)
        if not ids:
            event = {"execution_id": "late", "command": ["true"], "metadata": {"user_id": USER}}
            queue.enqueue(ExecutionRequestedEvent.from_any(event))
        return erased

    monkeypatch.setattr(Erasing, "erase", sends_after)
    done = forgotten(queue, database)
    assert (done.executions, done.left) == (4, 1)
    assert reading.rows("SELECT execution_id, state FROM executions WHERE user_id = :user", user=USER) == [
        {"execution_id": "late", "state": "PENDING"}
    ]
    assert reading.one("SELECT count(*) FROM payloads WHERE execution_id = 'late'") == 1
    fill(queue, OTHER + "3")
    catch_up(queue, database)
    assert reading.one("SELECT count(*) FROM journals") == 1, "the consumer's own entry was not struck"
    assert reading.rows("SELECT * FROM gaps") == []


@pytest.mark.usefixtures("consuming")
def test_one_whose_work_has_not_ended_is_not_forgotten(
    queue: ExecutionQueueService, database: Database, reading: Reading
) -> None:
    fill(queue, USER, lives=True)
    with pytest.raises(UserHasWork, match="1 executions of 'ann-example' have not ended"):
        forgotten(queue, database)
    assert queue.controls.limits() == {f"user:{USER}": 5}
    assert reading.one("SELECT count(*) FROM executions WHERE user_id = :user", user=USER) == 5
    assert queue.views.event(f"waits-of-{len(USER)}") is not None


def test_nothing_changes_while_nobody_reads_the_journal(
    queue: ExecutionQueueService, database: Database, consumer: Consumer, redis_client: Any
) -> None:
    fill(queue, USER)
    before = redis_client.xlen("exec_queue:journal")
    with pytest.raises(JournalUnread, match="entries of the journal are not in the ledger, and nobody reads them"):
        forgotten(queue, database, wait_seconds=0.3)
    assert redis_client.xlen("exec_queue:journal") == before


@pytest.mark.usefixtures("consuming")
def test_a_rebuilt_redis_knows_nothing_of_a_forgotten_user(
    queue: ExecutionQueueService, database: Database, redis_client: Any
) -> None:
    fill(queue, USER)
    fill(queue, OTHER, lives=True)
    forgotten(queue, database)
    redis_client.flushdb()
    done = rebuild(queue, database)
    assert done.not_restored == {}
    assert queue.views.pending() == [f"waits-of-{len(OTHER)}"]
    assert queue.controls.limits() == {f"user:{OTHER}": 5}
    assert list(queue.controls.rates.all()) == [f"user:{OTHER}"]
    assert queue.shares.weights() == {f"user:{OTHER}": 3}
    is_forgotten(redis_client, database)


@pytest.mark.usefixtures("consuming")
def test_a_stranger_is_forgotten_too(queue: ExecutionQueueService, database: Database) -> None:
    fill(queue, OTHER)
    done = forgotten(queue, database)
    assert (done.executions, done.erased, done.struck, done.tokens) == (0, 0, 0, 0)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("consuming")
def test_sqlite_keeps_no_deleted_bytes(queue: ExecutionQueueService, database: Database) -> None:
    """PostgreSQL's are removed by its vacuum."""
    assert database.file is not None
    fill(queue, USER)
    forgotten(queue, database)
    for file in database.file.parent.glob(f"{database.file.name}*"):
        assert f"{SECRET}{USER}".encode() not in file.read_bytes(), file
