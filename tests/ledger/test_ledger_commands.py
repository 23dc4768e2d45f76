"""The ledger's commands as an operator runs them, beside the process and without it."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from databases import SQLITE_IN_CHECK
from ledger_process import Attempt, RunCommand, Start, send, stands
from ledger_reading import Reading, catch_up

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.standing import WRITTEN_WITHIN_MS
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_SECONDS, wait_until

ANY_KIND = pytest.mark.parametrize("database_kind", SQLITE_IN_CHECK, indirect=True)


def why_unread(empty_ledger_url: str) -> str:
    """What is said of a ledger that nobody has made."""
    if empty_ledger_url.startswith("sqlite"):
        return f"there is no ledger '{empty_ledger_url.removeprefix('sqlite:///')}': set ledger.url if it is elsewhere"
    return "has no tables yet, and this release needs revision"


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_folder_that_is_not_there_is_named_and_not_made(
    environment: dict[str, str], run_command: RunCommand, tmp_path: Path
) -> None:
    mistyped = environment | {"BANDMASTER_LEDGER__URL": f"sqlite:///{tmp_path / 'vra' / 'ledger.sqlite3'}"}
    for arguments in ([], ["rebuild"], ["forget", "--user", "ann", "--yes"]):
        done = run_command(mistyped, "ledger", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert f"there is no folder '{tmp_path / 'vra'}': set ledger.url if it is elsewhere" in done.err
    assert not (tmp_path / "vra").exists()


def test_the_tables_are_made_by_hand_as_well(
    queue: ExecutionQueueService, empty_ledger_url: str, attempt: Attempt, command: Callable[..., Any]
) -> None:
    refused = attempt()
    assert refused.code == 2
    assert why_unread(empty_ledger_url) in refused.err
    file = Path(empty_ledger_url.removeprefix("sqlite:///"))
    assert not file.exists(), "a look at it makes no file"
    made = command("upgrade")
    if empty_ledger_url.startswith("sqlite"):
        assert file.stat().st_mode & 0o777 == 0o600, "payloads may be secret"
    told = command()
    assert told["revision"] == made["revision"]
    assert (told["consumer"], told["read_up_to"], told["entries_behind"]) == (None, None, None)


def test_a_lost_redis_is_rebuilt_by_a_command(
    queue: ExecutionQueueService, empty_ledger_url: str, attempt: Attempt, command: Callable[..., Any]
) -> None:
    assert why_unread(empty_ledger_url) in attempt("rebuild").err
    command("upgrade")
    refused = attempt("rebuild")
    assert (refused.code, "the ledger is empty: is this the right one?" in refused.err) == (2, True)
    send(queue, 0, 3)
    queue.transitions.park(Candidate("mail", "mails", 2, "mail", message=b"hello"))
    with closing(Database(empty_ledger_url)) as database:
        consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test"))
        assert consumer.begin()
        catch_up(consumer)
    order = queue.views.pending()
    refused = attempt("rebuild")
    assert refused.code == 2
    assert "Redis has 4 executions that have not ended; with --merge, they stay" in refused.err
    queue.scripts.client.flushdb()
    done = attempt("rebuild")
    assert done.code == 1, done.err
    assert "1 executions could not be restored" in done.err
    assert done.json["rebuilt"] == {
        "restored": {"PENDING": 3},
        "known": 0,
        "not_restored": {"mail": "it was PENDING on lane mails, and its payload is not in the ledger"},
        "changes": 0,
        "not_set": {},
        "stays_paused": False,
    }
    assert queue.views.pending() == order


@ANY_KIND
@pytest.mark.usefixtures("consuming")
def test_a_user_is_forgotten_by_the_command(queue: ExecutionQueueService, database: Database, attempt: Attempt) -> None:
    queue.enqueue({"execution_id": "a", "command": ["true"], "metadata": {"user_id": "ann"}})
    wait_until(lambda: stands(database).executions == 1, what="the entry")
    known = attempt("forget", "--user", "ann", "--dry-run").json["known"]
    assert known == {"executions": 1, "living": 1, "tokens": 0}
    asks = attempt("forget", "--user", "ann")
    assert (asks.code, "add --yes" in asks.err) == (2, True), asks.err
    lives = attempt("forget", "--user", "ann", "--yes")
    assert (lives.code, "1 executions of 'ann' have not ended" in lives.err) == (5, True), lives.err
    queue.cancel("a")
    done = attempt("forget", "--user", "ann", "--yes")
    assert done.code == 0, done.err
    forgotten = done.json["forgotten"]
    assert (forgotten["executions"], forgotten["erased"]) == (1, 1)
    assert forgotten["pseudonym"].startswith("forgotten-")
    nobody = attempt("forget", "--user", "ann", "--yes")
    assert (nobody.code, "nothing was known of 'ann'" in nobody.err) == (3, True)
    assert attempt("forget", "--user", "", "--yes").code == 2


@ANY_KIND
@pytest.mark.slow
def test_a_history_that_nobody_writes_fails_the_command_that_looks(
    start: Start, command: Callable[..., Any], database: Database
) -> None:
    assert not command()["written"], "none ever began"
    process = start()
    wait_until(lambda: stands(database).is_written, what="the consumer")
    assert command()["written"]
    process.kill()
    process.wait()
    Reading(database).change(f"UPDATE consumer SET renewed_ms = renewed_ms - {WRITTEN_WITHIN_MS}")
    assert not command()["written"]
    process = start()
    wait_until(lambda: stands(database).is_written, what="the next consumer")
    process.terminate()
    assert process.wait(GENEROUS_SECONDS) == 0
    told = command()
    assert (told["written"], told["renewed_seconds_ago"]) == (False, None)
