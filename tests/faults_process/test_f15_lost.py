"""F15: Redis is lost in the middle of work, with pods running, and is rebuilt from the ledger."""

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from ended_leases import end_leases
from sqlalchemy import create_engine, text

from bandmaster.configs.children import Replaced, child_environment
from bandmaster.ledger.database import Database
from bandmaster.ledger.standing import standing
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.model.states import TERMINAL, State
from faults_process.installation import Installation
from faults_process.members import SHORT
from waiting import wait_until

pytestmark = pytest.mark.slow

EXECUTIONS = 24
AT_LIMIT = 4


def ledger_settings(installation: Installation) -> Replaced:
    return {("ledger", "url"): f"sqlite:///{installation.folder}/ledger.sqlite3", ("ledger", "lease_ms"): "1000"}


def rows(installation: Installation, query: str) -> list[tuple[Any, ...]]:
    engine = create_engine(f"sqlite:///{installation.folder}/ledger.sqlite3")
    with engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(text(query))]
    engine.dispose()
    return found


def read_by_the_ledger(installation: Installation) -> int:
    """How many entries of the journal it has."""
    with closing(Database(f"sqlite:///{installation.folder}/ledger.sqlite3")) as database:
        position = standing(database, "exec_queue").position
    return 0 if position is None else position.count


def bandmaster(installation: Installation, url: str, *arguments: str) -> Any:
    """Run a command with the settings of the installation's members; the document that it prints."""
    own: Replaced = {("redis", "url"): url, ("paths", "var_dir"): str(installation.folder)}
    done = subprocess.run(
        [sys.executable, "-m", "bandmaster", *arguments, "--json"],
        env={**os.environ, **child_environment({**SHORT, **own, **ledger_settings(installation)})},
        cwd=installation.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_lost_redis_is_rebuilt_while_pods_run(installation: Installation, redis_url: str) -> None:
    installation.queue.controls.change_setting("max_concurrent_executions", AT_LIMIT)
    installation.queue.controls.set_limit("tenant:acme", 2)
    for _ in range(2):
        installation.members.worker()
    installation.members.scheduler()
    installation.members.other(
        "bandmaster.ledger", ready="ledger_started", settings=ledger_settings(installation), environment={}
    )
    short = [installation.submit(f"sleep 0.{number % 5 + 1}") for number in range(EXECUTIONS)]
    told = [installation.submit(installation.until_told) for _ in range(2)]
    ids = [*short, *told]

    def ended() -> set[str]:
        query = "SELECT execution_id FROM executions WHERE state IN ('COMPLETED', 'FAILED', 'TIMEOUT', 'CANCELLED')"
        return {one for (one,) in rows(installation, query)}

    wait_until(lambda: len(ended()) >= EXECUTIONS // 3, what="a part of the work")
    # An attempt that the ledger has not read of is given again (promise 8), so none is given until it knows all.
    installation.queue.controls.pause()
    given = Follower(installation.queue.scripts).end().count
    wait_until(lambda: read_by_the_ledger(installation) >= given, what="the ledger to have read of all attempts")
    installation.client.flushdb()
    before = ended()
    rebuilt = bandmaster(installation, redis_url, "ledger", "rebuild", "--merge")["rebuilt"]
    assert rebuilt["not_restored"] == {}
    # The rebuild gives each grant its lease again, also those that no worker holds any more.
    end_leases(installation.queue)
    assert installation.queue.controls.limits() == {"tenant:acme": 2}
    installation.queue.controls.resume()
    installation.tell()

    def all_ended() -> bool:
        return all(meta.get("state") in TERMINAL for meta in installation.queue.views.metas(ids))

    wait_until(all_ended, what="the end of all executions")
    wait_until(lambda: not installation.alive(), what="the end of all pods")
    assert {one: installation.state(one) for one in ids} == dict.fromkeys(ids, State.COMPLETED)
    for one in before:
        assert len(installation.runs(one)) == 1, f"{one} had ended, and ran again"
    for one in ids:
        runs = installation.runs(one)
        assert len(runs) == len(set(runs)), f"{one}: an attempt ran twice: {runs}"
    assert installation.queue.views.dead() == []
    assert installation.queue.views.status().active_count == 0

    def told_by_the_ledger() -> bool:
        return not rows(installation, "SELECT 1 FROM executions WHERE state <> 'COMPLETED' OR lost_ms IS NOT NULL")

    wait_until(told_by_the_ledger, what="the ledger")
    ends = Counter(one for (one,) in rows(installation, "SELECT execution_id FROM transitions WHERE verb = 'release'"))
    assert ends == dict.fromkeys(ids, 1), "each has exactly one end"
    installation.probe()
