"""The process as an operator runs it: killed at any time, twice at once, on tables that it makes by itself."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ledger_reading import Reading

from bandmaster.ledger.database import Database
from bandmaster.ledger.standing import WRITTEN_WITHIN_MS, Standing, standing
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

Start = Callable[[], "subprocess.Popen[str]"]
Attempt = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(redis_url: str, database_url: str) -> dict[str, str]:
    return os.environ | {
        "BANDMASTER_REDIS__URL": redis_url,
        "BANDMASTER_LEDGER__URL": database_url,
        "BANDMASTER_LEDGER__LEASE_MS": "1000",
        "BANDMASTER_LOGGING__FORMAT": "json",
    }


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def start() -> "subprocess.Popen[str]":
        with (tmp_path / "log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "bandmaster.ledger"], env=environment, stdout=log, stderr=log, text=True
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def attempt(environment: dict[str, str]) -> Attempt:
    """``bandmaster ledger … --json``, which may fail."""

    def attempt(*arguments: str) -> "subprocess.CompletedProcess[str]":
        asked = [sys.executable, "-m", "bandmaster", "ledger", *arguments, "--json"]
        return subprocess.run(asked, env=environment, capture_output=True, text=True, check=False, timeout=60)

    return attempt


@pytest.fixture
def command(attempt: Attempt) -> Callable[..., Any]:
    """The same, which has to do what it is asked; the document that it printed."""

    def command(*arguments: str) -> Any:
        done = attempt(*arguments)
        assert done.stdout, done.stderr
        (document,) = json.loads(done.stdout).values()
        assert done.returncode == (0 if document.get("written", True) else 1), done.stdout + done.stderr
        return document

    return command


def send(queue: ExecutionQueueService, first: int, count: int) -> None:
    for number in range(first, first + count):
        queue.enqueue(ExecutionRequestedEvent(execution_id=f"exec-{number}", action="resize", command=("true",)))


def test_killed_again_and_again_it_writes_each_entry_once(
    queue: ExecutionQueueService, database: Database, start: Start, command: Callable[..., Any]
) -> None:
    for round_number in range(5):
        process = start()
        send(queue, 40 * round_number, 40)
        while granted := queue.try_schedule():
            queue.release(granted[0])
        process.send_signal(signal.SIGKILL)
        process.wait()
    start()
    start()
    wait_until(lambda: _caught_up(queue, database), what="the end of the journal", timeout_seconds=60)
    told = command()
    assert told["entries_behind"] == 0
    entries = list(queue.journal.entries())
    assert told["transitions"] == sum(bool(entry.execution_id) for entry in entries)
    assert (told["executions"], told["lost_executions"], told["missed_entries"]) == (200, 0, 0)


def _stands(database: Database) -> Standing:
    """What `bandmaster ledger` shows, asked again and again without a process each time."""
    return standing(database, "exec_queue")


def _caught_up(queue: ExecutionQueueService, database: Database) -> bool:
    position, end = _stands(database).position, Follower(queue.scripts).end()
    return position is not None and 0 < end.count == position.count


def test_told_to_end_it_ends_and_the_next_one_begins_at_once(
    queue: ExecutionQueueService, database: Database, start: Start
) -> None:
    process = start()
    send(queue, 0, 1)
    wait_until(lambda: _caught_up(queue, database), what="the first entry")
    first = _stands(database).holder
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    start()
    send(queue, 1, 1)
    wait_until(lambda: _stands(database).transitions == 2, what="the second entry")
    assert _stands(database).holder != first


def test_stopped_for_a_while_it_goes_on(queue: ExecutionQueueService, database: Database, start: Start) -> None:
    process = start()
    send(queue, 0, 1)
    wait_until(lambda: _stands(database).transitions == 1, what="the first entry")
    process.send_signal(signal.SIGSTOP)
    # Longer than it waits for a signal at a time.
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    send(queue, 1, 1)
    wait_until(lambda: _stands(database).transitions == 2, what="the second entry")
    assert process.poll() is None
    process.terminate()
    assert process.wait(timeout=30) == 0


def test_it_waits_for_a_database_that_is_slower_to_start(
    queue: ExecutionQueueService,
    environment: dict[str, str],
    start: Start,
    database: Database,
    database_url: str,
    tmp_path: Path,
) -> None:
    """After a reboot, say; a short wait ends with what is wrong."""
    if database_url.startswith("sqlite"):
        pytest.skip("a file needs no start")
    before, folder = database_url.split("host=")
    link = tmp_path / "server"
    environment["BANDMASTER_LEDGER__URL"] = f"{before}host={link}"
    environment["BANDMASTER_REDIS__CONNECT_WAIT_SECONDS"] = "0"
    assert start().wait(timeout=60) == 1
    assert "the ledger's database does not answer" in (tmp_path / "log").read_text()
    environment["BANDMASTER_REDIS__CONNECT_WAIT_SECONDS"] = "300"
    send(queue, 0, 1)
    waits = start()
    wait_until(lambda: "database_awaited" in (tmp_path / "log").read_text(), what="it waits")
    link.symlink_to(folder)
    wait_until(lambda: _caught_up(queue, database), what="the first entry", timeout_seconds=60)
    waits.send_signal(signal.SIGTERM)
    assert waits.wait(timeout=30) == 0


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_while_it_waits_for_redis_it_ends(
    environment: dict[str, str], database: Database, tmp_path: Path, ending: signal.Signals
) -> None:
    nobody = environment | {
        "BANDMASTER_REDIS__URL": f"unix://{tmp_path}/nobody",
        "BANDMASTER_REDIS__CONNECT_WAIT_SECONDS": "60",
    }
    asked = [sys.executable, "-m", "bandmaster.ledger"]
    with subprocess.Popen(asked, env=nobody, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert "redis_awaited" in process.stdout.readline()
        process.send_signal(ending)
        rest = process.stdout.read()
        assert process.wait(timeout=30) == 0
    assert "Traceback" not in rest


def test_the_tables_are_made_by_hand_as_well(
    queue: ExecutionQueueService, database_url: str, attempt: Attempt, command: Callable[..., Any]
) -> None:
    refused = attempt()
    assert refused.returncode == 2
    assert "has no tables yet, and this release needs revision" in refused.stderr
    file = Path(database_url.removeprefix("sqlite:///"))
    assert not file.exists(), "a look at it makes no file"
    made = command("upgrade")
    if database_url.startswith("sqlite"):
        assert file.stat().st_mode & 0o777 == 0o600, "payloads may be secret"
    told = command()
    assert told["revision"] == made["revision"]
    assert (told["consumer"], told["read_up_to"], told["entries_behind"]) == (None, None, None)


def test_only_sqlites_tables_are_made_by_the_process_itself(
    start: Start, database_url: str, attempt: Attempt, command: Callable[..., Any]
) -> None:
    process = start()
    if database_url.startswith("sqlite"):
        wait_until(lambda: attempt().returncode == 0 and command()["consumer"], what="its tables")
        process.terminate()
        assert process.wait(timeout=60) == 0
    else:
        assert process.wait(timeout=60) == 1
        assert "has no tables yet" in attempt().stderr


def test_a_process_of_another_queue_ends_and_says_why(
    start: Start, environment: dict[str, str], database: Database
) -> None:
    start()
    wait_until(lambda: _stands(database).holder, what="the first consumer")
    other = environment | {"BANDMASTER_REDIS__PREFIX": "another"}
    done = subprocess.run(
        [sys.executable, "-m", "bandmaster.ledger"], env=other, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "the ledger is that of the queue with the prefix 'exec_queue', not 'another'" in done.stderr
    for asks in (["--json"], ["forget", "--user", "ann", "--dry-run"]):
        looks = [sys.executable, "-m", "bandmaster", "ledger", *asks]
        seen = subprocess.run(looks, env=other, capture_output=True, text=True, check=False, timeout=60)
        assert (seen.returncode, seen.stdout) == (2, ""), "how another queue's ledger stands says nothing of this one"
        assert "the ledger is that of the queue with the prefix 'exec_queue', not 'another'" in seen.stderr


def test_a_wrong_url_is_told_in_one_line(environment: dict[str, str]) -> None:
    wrong = environment | {"BANDMASTER_LEDGER__URL": "mysql://root:secret@host/database"}
    done = subprocess.run(
        [sys.executable, "-m", "bandmaster.ledger"], env=wrong, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    variable = "(environment variable BANDMASTER_LEDGER__URL)"
    assert done.stderr.startswith(f"bandmaster: ledger: setting ledger.url {variable}")
    assert "sqlite:///var/ledger.sqlite3 or postgresql://" in done.stderr
    assert "secret" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_lost_redis_is_rebuilt_by_a_command(
    queue: ExecutionQueueService, database_url: str, start: Start, attempt: Attempt, command: Callable[..., Any]
) -> None:
    assert "has no tables yet" in attempt("rebuild").stderr
    command("upgrade")
    refused = attempt("rebuild")
    assert (refused.returncode, "the ledger is empty: is this the right one?" in refused.stderr) == (2, True)
    send(queue, 0, 3)
    queue.transitions.park(Candidate("mail", "mails", 2, "mail", message=b"hello"))
    process = start()
    with closing(Database(database_url)) as database:
        wait_until(lambda: _caught_up(queue, database), what="the entries")
    process.kill()
    order = queue.views.pending()
    refused = attempt("rebuild")
    assert refused.returncode == 2
    assert "Redis has 4 executions that have not ended; with --merge, they stay" in refused.stderr
    queue.scripts.client.flushdb()
    done = attempt("rebuild")
    assert done.returncode == 1, done.stderr
    assert "1 executions could not be restored" in done.stderr
    assert json.loads(done.stdout)["rebuilt"] == {
        "restored": {"PENDING": 3},
        "known": 0,
        "not_restored": {"mail": "it was PENDING on lane mails, and its payload is not in the ledger"},
        "changes": 0,
        "not_set": {},
        "stays_paused": False,
    }
    assert queue.views.pending() == order


def test_a_user_is_forgotten_by_the_command(
    queue: ExecutionQueueService, database: Database, start: Start, attempt: Attempt
) -> None:
    queue.enqueue({"execution_id": "a", "command": ["true"], "metadata": {"user_id": "ann"}})
    start()
    wait_until(lambda: _stands(database).executions == 1, what="the entry")
    known = json.loads(attempt("forget", "--user", "ann", "--dry-run").stdout)["known"]
    assert known == {"executions": 1, "living": 1, "tokens": 0}
    asks = attempt("forget", "--user", "ann")
    assert (asks.returncode, "add --yes" in asks.stderr) == (2, True), asks.stderr
    lives = attempt("forget", "--user", "ann", "--yes")
    assert (lives.returncode, "1 executions of 'ann' have not ended" in lives.stderr) == (5, True), lives.stderr
    queue.cancel("a")
    done = attempt("forget", "--user", "ann", "--yes")
    assert done.returncode == 0, done.stderr
    forgotten = json.loads(done.stdout)["forgotten"]
    assert (forgotten["executions"], forgotten["erased"]) == (1, 1)
    assert forgotten["pseudonym"].startswith("forgotten-")
    nobody = attempt("forget", "--user", "ann", "--yes")
    assert (nobody.returncode, "nothing was known of 'ann'" in nobody.stderr) == (3, True)
    assert attempt("forget", "--user", "", "--yes").returncode == 2


def test_a_history_that_nobody_writes_fails_the_command_that_looks(
    start: Start, command: Callable[..., Any], database: Database
) -> None:
    assert not command()["written"], "none ever began"
    process = start()
    wait_until(lambda: _stands(database).is_written, what="the consumer")
    assert command()["written"]
    process.kill()
    process.wait()
    Reading(database).change(f"UPDATE consumer SET renewed_ms = renewed_ms - {WRITTEN_WITHIN_MS}")
    assert not command()["written"]
    process = start()
    wait_until(lambda: _stands(database).is_written, what="the next consumer")
    process.terminate()
    assert process.wait(30) == 0
    told = command()
    assert (told["written"], told["renewed_seconds_ago"]) == (False, None)
