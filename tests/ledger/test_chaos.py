"""Whatever is killed, cut or set back, the ledger equals the journal, and the journal the naive history.

Random work goes on while two processes of the ledger, Redis and the database are killed and begin again.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import redis
from faults_server.own_server import OwnServer
from ledger_reading import Reading
from naive import Naive
from postgres import PostgresServer, installations, postgres_server
from random_operators import Operators
from redis_work import Snapshot, restore_snapshot, send, snapshot
from turned_queue import TurnedQueue

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.model.errors import BandmasterError, DuplicateExecution
from bandmaster.scheduler.model.states import TERMINAL
from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow

ACTS_A_ROUND = 35
PREFIX = "exec_queue"
CAUGHT_UP = "SELECT incarnation, entry_count, is_unsure FROM consumer JOIN journals USING (journal_id)"


@dataclass
class Stage:
    """What is broken: one Redis, one database, two processes of the ledger."""

    server: OwnServer
    client: redis.Redis
    queue: TurnedQueue
    database: Database
    database_server: PostgresServer | None
    folder: Path
    url: str
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list["subprocess.Popen[bytes]"])

    def start_consumer(self) -> None:
        own = {
            "BANDMASTER_REDIS__URL": self.server.url,
            "BANDMASTER_LEDGER__URL": self.url,
            "BANDMASTER_LEDGER__LEASE_MS": "1000",
            "BANDMASTER_PATHS__VAR_DIR": str(self.folder),
        }
        with (self.folder / "log").open("ab") as log:
            command = [sys.executable, "-m", "bandmaster.ledger"]
            before = self._started()
            self.processes.append(subprocess.Popen(command, env=os.environ | own, stdout=log, stderr=log))
        # One that finds no database at its start ends; whoever runs it starts it again.
        wait_until(lambda: self._started() > before, what="a process of the ledger")

    def _started(self) -> int:
        return (self.folder / "log").read_text().count("ledger_started")

    def kill_consumer(self) -> None:
        process = self.processes.pop(0)
        assert process.poll() is None, "it ended by itself:\n" + (self.folder / "log").read_text()
        process.kill()
        process.wait()

    def replace_consumer(self) -> None:
        self.kill_consumer()
        self.start_consumer()

    def restart_database(self) -> None:
        if self.database_server is None:
            self.replace_consumer()  # SQLite's process is the ledger's own
        else:
            self.database_server.kill()
            self.database_server.start()

    def restart_redis(self) -> None:
        self.server.kill()
        self.server.start()

    def cut_connections(self) -> None:
        self.client.client_kill_filter(_type="normal", skipme=True)

    def set_clock_back(self) -> None:
        self.queue.clock.turn(-3_600_000)

    def set_clock_forward(self) -> None:
        self.queue.clock.turn(7_200_000)

    def wait_until_some_is_read(self, reading: Reading) -> None:
        """Until a process of the ledger is at work, so that what comes now meets it."""
        send(self.queue, f"seen-{self.client.xlen(f'{PREFIX}:journal')}")
        before = self.client.xlen(f"{PREFIX}:journal")

        def is_read() -> bool:
            return any(row["entry_count"] >= before for row in reading.rows(CAUGHT_UP))

        wait_until(is_read, what="a process of the ledger at work")

    def wait_until_read(self, reading: Reading) -> None:
        """Until the ledger has come to the end of the journal, and knows what lives."""

        def is_read() -> bool:
            with suppress(BandmasterError):
                found = reading.rows(CAUGHT_UP)
                info: Any = self.client.xinfo_stream(f"{PREFIX}:journal")
                name: Any = self.client.get(f"{PREFIX}:incarnation")
                at_end = [(name.decode(), info["entries-added"], False)] if name else None
                return at_end == [(row["incarnation"], row["entry_count"], bool(row["is_unsure"])) for row in found]
            return False

        wait_until(is_read, what="the end of the journal")


@pytest.fixture(params=["sqlite", *list(installations())[:1]])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    with ExitStack() as ends:
        # Not pytest's folder: its path may be longer than a socket's may be.
        server = OwnServer(Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="bm-"))), appendfsync="always")
        ends.callback(server.end)
        server.start()
        database_server, url = None, f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
        if request.param != "sqlite":
            database_server = ends.enter_context(postgres_server(installations()[request.param]))
            url = database_server.create_database()
        database, client = Database(url), redis.Redis.from_url(server.url)
        ends.callback(client.close)
        ends.callback(database.close)
        upgrade(database)
        made = Stage(server, client, TurnedQueue(client), database, database_server, tmp_path, url)
        yield made
        for process in made.processes:
            process.kill()
            process.wait()
        print((tmp_path / "log").read_text()[-4_000:])


def test_the_ledger_equals_the_journal_and_the_naive_history(stage: Stage) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chances, reading, queue = random.Random(seed), Reading(stage.database), stage.queue
    operators = Operators(queue, seed)
    stage.start_consumer()
    stage.start_consumer()
    faults = [
        stage.replace_consumer,
        stage.restart_database,
        stage.restart_redis,
        stage.cut_connections,
        stage.set_clock_forward,
        stage.set_clock_back,
    ]
    chances.shuffle(faults)
    older: Snapshot = {}
    for number, fault in enumerate(faults):
        stage.wait_until_some_is_read(reading)
        play(operators, ACTS_A_ROUND)
        send_twice(queue, f"batch-{number}")
        fault()
        if number == len(faults) // 2:
            older = snapshot(stage.client)
    play(operators, ACTS_A_ROUND)
    stage.wait_until_read(reading)
    equals_journal(stage, reading)
    equals_naive_history(stage, reading)
    equals_redis(stage, reading)
    counts_each_wait(stage, reading)

    for _ in range(2):
        stage.kill_consumer()
    restore_snapshot(stage.client, older)
    queue.clock.turn(0)
    stage.start_consumer()
    stage.start_consumer()
    play(operators, ACTS_A_ROUND)
    stage.wait_until_read(reading)
    equals_journal(stage, reading, is_whole=False)
    equals_redis(stage, reading)

    stage.client.flushall()
    queue.clock.turn(0)
    play(operators, ACTS_A_ROUND)
    stage.wait_until_read(reading)
    equals_journal(stage, reading, is_whole=False)
    equals_redis(stage, reading)
    for process in stage.processes:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=GENEROUS_SECONDS) == 0


def play(operators: Operators, acts: int) -> None:
    for _ in range(acts):
        with suppress(BandmasterError):  # what a restored server has forgotten can be neither ended nor cancelled
            operators.act()


def send_twice(queue: TurnedQueue, name: str) -> None:
    send(queue, name)
    with pytest.raises(DuplicateExecution):
        send(queue, name)


def equals_journal(stage: Stage, reading: Reading, *, is_whole: bool = True) -> None:
    """Each entry once, in order, and nothing else; or, if the server was another one before, each entry once."""
    told = reading.rows(
        "SELECT entry_ms, entry_number, verb, execution_id FROM transitions UNION ALL "
        "SELECT entry_ms, entry_number, verb, '' FROM changes ORDER BY 1, 2"
    )
    written = [(f"{row['entry_ms']}-{row['entry_number']}", row["verb"], row["execution_id"]) for row in told]
    entries = [(each.entry_id, each.verb, each.execution_id) for each in stage.queue.journal.entries()]
    if is_whole:
        assert written == entries
        assert reading.one("SELECT count(*) FROM gaps") == 0
    else:
        found = Counter(written)
        assert {each: found[each] for each in entries} == dict.fromkeys(entries, 1)


def equals_naive_history(stage: Stage, reading: Reading) -> None:
    naive = Naive().read(stage.queue.journal.entries())
    rows = reading.rows("SELECT execution_id, state, attempt FROM executions")
    assert {row["execution_id"]: (row["state"], row["attempt"]) for row in rows} == naive.states
    holds = reading.rows("SELECT gate, count(*) AS taken, count(until_ms) AS given FROM holds GROUP BY gate")
    assert {row["gate"]: row["taken"] for row in holds} == dict(naive.taken)
    assert {row["gate"]: row["taken"] - row["given"] for row in holds} == dict(naive.held)


def counts_each_wait(stage: Stage, reading: Reading) -> None:
    """Each wait that ended is counted once, whatever was killed while it was summed."""
    last = "SELECT entry_ms, entry_number FROM transitions ORDER BY entry_ms DESC, entry_number DESC LIMIT 1"
    position = "SELECT entry_ms, entry_number FROM wait_positions"
    wait_until(lambda: reading.rows(position) == reading.rows(last), what="sums of all waits")
    verbs = Counter(entry.verb for entry in stage.queue.journal.entries())
    certain = verbs["admit"] + verbs["expire"] + verbs["lose"]
    # What was cancelled or removed may have waited, or not.
    counted = reading.one("SELECT sum(waits) FROM wait_counts WHERE by_what = 'action'")
    assert certain <= counted <= certain + verbs["cancel"] + verbs["remove"]
    assert certain > 0


def equals_redis(stage: Stage, reading: Reading) -> None:
    """What lives, holds and is counted."""
    rows = reading.rows("SELECT execution_id, state, attempt FROM executions WHERE lost_ms IS NULL")
    living = {row["execution_id"]: (row["state"], row["attempt"]) for row in rows if row["state"] not in TERMINAL}
    members = sorted(stage.queue.views.members("executions"))
    metas = dict(zip(members, stage.queue.views.metas(members), strict=True))
    assert living == {one: (meta["state"], int(meta.get("attempt", 0))) for one, meta in metas.items()}
    open_holds = Counter(row["gate"] for row in reading.rows("SELECT gate FROM holds WHERE until_ms IS NULL"))
    gates = sorted({row["gate"] for row in reading.rows("SELECT gate FROM holds")})
    assert [open_holds[gate] for gate in gates] == stage.queue.views.held(gates)
    for row in reading.rows("SELECT ref, queue_stats.* FROM queue_stats JOIN action ON id = action_id"):
        known = stage.queue.action_statistics(row["ref"])
        assert (row["queue_length"], row["active_count"]) == (known.queue_length, known.active_count), row
