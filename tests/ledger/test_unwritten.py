"""A database that really takes no writes: who tries says since when and why, without what rows hold."""

import resource
import subprocess
from contextlib import closing

import psycopg
import pytest
import redis
from databases import POSTGRESQLS
from ledger_process import Attempt, RunCommand, Start, caught_up, send
from ledger_reading import catch_up
from psycopg import sql
from scraped import scrape, value
from sqlalchemy import Insert, insert

from bandmaster.ledger import database as database_module
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerRefused, LedgerUnavailable, RowsRefused
from bandmaster.ledger.metrics.collecting import FiguresCollector
from bandmaster.ledger.schema.tables import journals
from bandmaster.ledger.write_signs import ELSEWHERE_MS, KEPT_MS, WriteSigns
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_MS, wait_until

KEY = "exec_queue:ledger"
MINUTES_MS = 5 * 60_000


def set_read_only(ledger_url: str, *, is_on: bool) -> None:
    """Have PostgreSQL refuse all writes into a database, also those of whoever is connected."""
    url = ledger_url.replace("postgresql+psycopg:", "postgresql:")
    with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as connection:
        name = sql.Identifier(connection.info.dbname)
        changed = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
        connection.execute(changed.format(name, sql.Literal("on" if is_on else "off")))
        connection.execute(
            # With a time it returns when they have ended: a pool that looks meanwhile finds a connection in order.
            "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
            (GENEROUS_MS, connection.info.dbname),
        )


def refuse_writes(process: "subprocess.Popen[str]", ledger_url: str) -> str:
    """Have the database refuse all that this process writes from now on; return a part of the reason."""
    if not ledger_url.startswith("sqlite"):
        set_read_only(ledger_url, is_on=True)
        return "read-only transaction"
    # As on a full disk: not a byte is added to any file.
    _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, most))
    return "disk"


def allow_writes(process: "subprocess.Popen[str]", ledger_url: str) -> None:
    if not ledger_url.startswith("sqlite"):
        set_read_only(ledger_url, is_on=False)
        return
    _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))


@pytest.mark.slow
def test_it_is_told_of_in_words_and_as_a_metric_until_it_takes_writes_again(
    queue: ExecutionQueueService,
    redis_client: redis.Redis,
    database: Database,
    ledger_url: str,
    environment: dict[str, str],
    start: Start,
    attempt: Attempt,
    run_command: RunCommand,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The test's own connection ends with the others; one that was used just now would not be asked whether it lives.
    monkeypatch.setattr(database_module, "_FRESH_SECONDS", 0.0)
    process, signs, collector = start(), WriteSigns(queue.scripts), FiguresCollector(queue, database, gates=0)
    send(queue, 0, 1)
    wait_until(lambda: caught_up(queue, database), what="the first entry")
    assert signs.unwritten() is None
    assert value(scrape(collector), "bandmaster_ledger_unwritten_seconds") == 0
    why = refuse_writes(process, ledger_url)
    send(queue, 1, 1)
    wait_until(lambda: (found := signs.unwritten()) and why in found.reason, what="the process to say why")
    # It says from when on, also at its next tries.
    redis_client.hincrby(KEY, "failing_ms", -MINUTES_MS)
    redis_client.pexpire(KEY, KEPT_MS // 2)
    wait_until(lambda: redis_client.pttl(KEY) > KEPT_MS // 2, what="its next try")
    found = value(scrape(collector), "bandmaster_ledger_unwritten_seconds")
    assert found is not None
    assert found >= MINUTES_MS / 1000
    status = run_command(environment, "status", "--json")
    (sentence,) = [each["sentence"] for each in status.json["verdicts"] if each["code"] == "ledger_not_written"]
    assert sentence.startswith("The ledger could not be written for 5 min: ")
    assert why in sentence
    told = attempt().json["ledger"]["unwritten"]
    assert why in told["reason"]
    assert told["seconds"] >= MINUTES_MS / 1000
    allow_writes(process, ledger_url)
    wait_until(lambda: caught_up(queue, database), what="the second entry")
    wait_until(lambda: signs.unwritten() is None, what="the process to say that it can write")
    assert value(scrape(collector), "bandmaster_ledger_unwritten_seconds") == 0
    assert process.poll() is None
    assert attempt().json["ledger"]["unwritten"] is None


def test_a_process_that_cannot_write_says_nothing_while_another_one_writes(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    signs, now_ms = WriteSigns(queue.scripts), queue.views.server_time_ms()
    signs.wrote("one", now_ms)
    signs.failed("two", "it is full")
    assert signs.unwritten() is None
    signs.failed("one", "it is full")
    assert signs.unwritten() is not None, "the writer itself"
    signs.wrote("one", now_ms - ELSEWHERE_MS - 1)
    assert signs.unwritten() is None
    signs.failed("two", "it is full")
    assert signs.unwritten() is not None
    signs.wrote("one", now_ms)
    assert signs.unwritten() is None
    assert redis_client.pttl(KEY) > 0, "what a process said that died is gone by itself"


@pytest.mark.parametrize("database_kind", POSTGRESQLS, indirect=True)
def test_what_a_trigger_says_of_a_row_is_not_told(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    with database.writing() as connection:
        connection.exec_driver_sql(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'row %%', NEW; END $$"
        )
        connection.exec_driver_sql("CREATE TRIGGER refusing BEFORE INSERT ON payloads EXECUTE FUNCTION refuse()")
    send(queue, 0, 1)
    with pytest.raises(LedgerRefused) as refused:
        catch_up(consumer)
    assert refused.value.told == "its database refuses (RaiseException)"


@pytest.mark.parametrize("number", [1, 10**30])
def test_values_of_rows_that_are_refused_are_not_told(database: Database, number: int) -> None:
    rows = insert(journals).values(incarnation="the user's secret", begun_ms=number)
    with pytest.raises(RowsRefused) as refused:
        write_twice(database, rows)
    assert "secret" not in refused.value.told
    assert str(10**30) not in refused.value.told


def write_twice(database: Database, rows: Insert) -> None:
    with database.writing() as connection:
        connection.execute(rows)
        connection.execute(rows)


def test_a_database_that_does_not_answer_is_not_named() -> None:
    database = Database("postgresql://ann:secret@127.0.0.1:1/somewhere")
    with closing(database), pytest.raises(LedgerUnavailable) as unavailable, database.reading():
        pass
    assert unavailable.value.told == "its database does not answer"
