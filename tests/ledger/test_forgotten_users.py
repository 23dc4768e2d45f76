"""A user is forgotten: nothing in Redis, SQL or the journal names it, whatever dies on the way; others keep all."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ledger_reading import Reading
from sqlalchemy import text

from bandmaster.ledger import forgetting
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import JournalUnread, UserHasWork
from bandmaster.ledger.forgetting import Forgotten, catch_up, forget
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.ledger.schema.tables import metadata
from bandmaster.scheduler.engine.erasing import Erasing
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

USER, OTHER = "ann-example", "ann-example-2"
SECRET = "a-marker-of-"
OF_USER = "SELECT execution_id FROM executions WHERE user_id = :user"


@pytest.fixture
def consuming(queue: ExecutionQueueService, database: Database) -> Iterator[None]:
    """The ledger's process, as a thread."""
    consumer, stop = Consumer(queue, Book(database, queue="exec_queue", holder="process")), threading.Event()
    thread = threading.Thread(target=consumer.run, args=(stop,))
    thread.start()
    yield
    stop.set()
    thread.join(30)
    assert not thread.is_alive()


def fill(queue: ExecutionQueueService, user: str, *, lives: bool = False) -> None:
    """Executions that ended in every way, a limit, a pause, a dead letter and a direct message of a user."""
    by = f"{user} (token 0123456789ab, 127.0.0.1)"

    def send(name: str) -> None:
        event = {
            "execution_id": f"{name}-of-{len(user)}",
            "script": f"echo {SECRET}{user}",
            "metadata": {"user_id": user},
        }
        queue.enqueue(ExecutionRequestedEvent.from_any(event))

    queue.controls.set_limit(f"user:{user}", 5, by=by)
    queue.controls.pause(f"user:{user}", by=by)
    queue.controls.resume(f"user:{user}", by=by)
    send("done")
    send("dead")
    for name, state in (("done", State.COMPLETED), ("dead", State.FAILED)):
        assert queue.try_schedule()
        result = b'{"exit_code": 0, "output_tail": "' + f"{SECRET}{user}".encode() + b'"}'
        name = f"{name}-of-{len(user)}"
        queue.transitions.settle(Release(name, 1, state, result=result, dead=state is State.FAILED))
    send("cancelled")
    queue.cancel(f"cancelled-of-{len(user)}", by=by)
    queue.transitions.park(
        Candidate(f"mail-of-{len(user)}", "mails", 2, "mail", user, message=f"{SECRET}{user}".encode())
    )
    queue.cancel(f"mail-of-{len(user)}", by=by)
    if lives:
        send("waits")


def found_in_redis(client: Any, user: str) -> list[str]:
    """The keys whose name or contents have a text."""
    wanted = user.encode()
    found: list[str] = []
    for key in client.scan_iter():
        dump: Any = client.dump(key)
        # A dump of long texts may be compressed.
        contents = {b"string": client.get, b"hash": client.hgetall, b"set": client.smembers}.get(client.type(key))
        plain = repr(contents(key)).encode() if contents else dump
        if client.type(key) == b"stream":
            plain = repr(client.xrange(key)).encode()
        elif client.type(key) == b"zset":
            plain = repr(client.zrange(key, 0, -1)).encode()
        if wanted in (key + plain).replace((user + "-2").encode(), b""):
            found.append(key.decode())
    return found


def found_in_sql(database: Database, user: str) -> list[str]:
    """The tables in whose rows a text is."""
    found: list[str] = []
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            for row in connection.execute(text(f'SELECT * FROM "{table.name}"')):
                shown = " ".join(each.decode() if isinstance(each, bytes) else str(each) for each in row)
                if user in shown.replace(user + "-2", ""):
                    found.append(f"{table.name}: {shown}")
    return found


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
    mine = rows_of(reading, done.pseudonym)
    assert len(mine["executions"]) == 4
    assert (mine["payloads"], mine["results"]) == ([], [])
    assert mine["holds"]
    (audited,) = {row["changed_by"] for row in mine["changes"] if row["verb"] == "erase"}
    assert audited == "operator@host"
    assert {row["changed_by"] for row in mine["changes"] if row["verb"] == "pause"} == {
        f"{done.pseudonym} (token 0123456789ab, 127.0.0.1)"
    }
    # What was known to Redis is still known, without the user.
    with pytest.raises(DuplicateExecution):
        queue.enqueue({"execution_id": f"done-of-{len(USER)}", "command": ["true"]})


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
def test_who_asked_is_the_user_only_if_the_name_is_whole(
    queue: ExecutionQueueService, database: Database, reading: Reading, redis_client: Any
) -> None:
    fill(queue, OTHER)
    own = ("", "@web-1", " (token 1, ::1)", " (login oidc:1, ::1)")
    names = (*(f"{USER}{each}" for each in own), f"{USER}-2@web-1", f"x{USER}", f"{USER}s")
    for number, by in enumerate(names):
        queue.controls.set_limit(f"tenant:{number}", 1, by=by)
    done = forget(queue, database, USER, by=f"{USER}@laptop")
    rows = reading.rows("SELECT name, changed_by FROM changes WHERE name LIKE 'tenant:%' ORDER BY name")
    assert [row["changed_by"] for row in rows] == [*(f"{done.pseudonym}{each}" for each in own), *names[4:]]
    (asked,) = reading.rows("SELECT DISTINCT changed_by FROM changes WHERE verb = 'erase'")
    assert asked == {"changed_by": done.pseudonym}
    assert {change.by for change in queue.journal.changes(100)} >= {*names[4:]}
    assert not {change.by for change in queue.journal.changes(100)} & {*names[:4]}
    assert queue.controls.limits()["tenant:0"] == 1


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
    is_forgotten(redis_client, database)


@pytest.mark.usefixtures("consuming")
def test_a_stranger_is_forgotten_too(queue: ExecutionQueueService, database: Database) -> None:
    fill(queue, OTHER)
    done = forgotten(queue, database)
    assert (done.executions, done.erased, done.struck, done.tokens) == (0, 0, 0, 0)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("consuming")
def test_sqlite_keeps_no_deleted_bytes(queue: ExecutionQueueService, database: Database) -> None:
    """PostgreSQL's are removed by its vacuum."""
    assert database.file is not None
    fill(queue, USER)
    forgotten(queue, database)
    with database.reading() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    for file in database.file.parent.glob(f"{database.file.name}*"):
        assert f"{SECRET}{USER}".encode() not in file.read_bytes(), file
