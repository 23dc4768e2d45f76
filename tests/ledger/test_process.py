"""The process as an operator runs it: killed at any time, twice at once, on tables that it makes by itself."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from databases import POSTGRESQLS, SQLITE_IN_CHECK
from ledger_process import Attempt, RunCommand, Start, caught_up, send, stands

from bandmaster.ledger.database import Database
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_SECONDS, wait_until

ANY_KIND = pytest.mark.parametrize("database_kind", SQLITE_IN_CHECK, indirect=True)

pytestmark = pytest.mark.slow


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
    wait_until(lambda: caught_up(queue, database), what="the end of the journal")
    told = command()
    assert told["entries_behind"] == 0
    entries = list(queue.journal.entries())
    assert told["transitions"] == sum(bool(entry.execution_id) for entry in entries)
    assert (told["executions"], told["lost_executions"], told["missed_entries"]) == (200, 0, 0)


@ANY_KIND
def test_told_to_end_it_ends_and_the_next_one_begins_at_once(
    queue: ExecutionQueueService, database: Database, start: Start
) -> None:
    process = start()
    send(queue, 0, 1)
    wait_until(lambda: caught_up(queue, database), what="the first entry")
    first = stands(database).holder
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=GENEROUS_SECONDS) == 0
    start()
    send(queue, 1, 1)
    wait_until(lambda: stands(database).transitions == 2, what="the second entry")
    assert stands(database).holder != first


@ANY_KIND
def test_stopped_for_a_while_it_goes_on(queue: ExecutionQueueService, database: Database, start: Start) -> None:
    process = start()
    send(queue, 0, 1)
    wait_until(lambda: stands(database).transitions == 1, what="the first entry")
    process.send_signal(signal.SIGSTOP)
    # Longer than it waits for a signal at a time.
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    send(queue, 1, 1)
    wait_until(lambda: stands(database).transitions == 2, what="the second entry")
    assert process.poll() is None
    process.terminate()
    assert process.wait(timeout=GENEROUS_SECONDS) == 0


@pytest.mark.parametrize("database_kind", POSTGRESQLS, indirect=True)
def test_it_waits_for_a_database_that_is_slower_to_start(
    queue: ExecutionQueueService,
    environment: dict[str, str],
    start: Start,
    database: Database,
    ledger_url: str,
    tmp_path: Path,
) -> None:
    """After a reboot, say; a short wait ends with what is wrong."""
    before, folder = ledger_url.split("host=")
    link = tmp_path / "server"
    environment["BANDMASTER_LEDGER__URL"] = f"{before}host={link}"
    environment["BANDMASTER_REDIS__CONNECT_WAIT_SECONDS"] = "0"
    assert start().wait(timeout=GENEROUS_SECONDS) == 1
    assert "the ledger's database does not answer" in (tmp_path / "log").read_text()
    environment["BANDMASTER_REDIS__CONNECT_WAIT_SECONDS"] = "300"
    send(queue, 0, 1)
    waits = start()
    wait_until(lambda: "database_awaited" in (tmp_path / "log").read_text(), what="it waits")
    link.symlink_to(folder)
    wait_until(lambda: caught_up(queue, database), what="the first entry")
    waits.send_signal(signal.SIGTERM)
    assert waits.wait(timeout=GENEROUS_SECONDS) == 0


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
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
        assert process.wait(timeout=GENEROUS_SECONDS) == 0
    assert "Traceback" not in rest


def test_only_sqlites_tables_are_made_by_the_process_itself(
    start: Start, empty_ledger_url: str, attempt: Attempt, command: Callable[..., Any]
) -> None:
    process = start()
    if empty_ledger_url.startswith("sqlite"):
        wait_until(lambda: attempt().code == 0 and command()["consumer"], what="its tables")
        process.terminate()
        assert process.wait(timeout=GENEROUS_SECONDS) == 0
    else:
        assert process.wait(timeout=GENEROUS_SECONDS) == 1
        assert "has no tables yet" in attempt().err


@ANY_KIND
def test_a_process_of_another_queue_ends_and_says_why(
    start: Start, environment: dict[str, str], run_command: RunCommand, database: Database
) -> None:
    start()
    wait_until(lambda: stands(database).holder, what="the first consumer")
    other = environment | {"BANDMASTER_REDIS__PREFIX": "another"}
    done = subprocess.run(
        [sys.executable, "-m", "bandmaster.ledger"], env=other, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "the ledger is that of the queue with the prefix 'exec_queue', not 'another'" in done.stderr
    for asks in (["--json"], ["forget", "--user", "ann", "--dry-run"]):
        seen = run_command(other, "ledger", *asks)
        assert (seen.code, seen.out) == (2, ""), "how another queue's ledger stands says nothing of this one"
        assert "the ledger is that of the queue with the prefix 'exec_queue', not 'another'" in seen.err


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
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
