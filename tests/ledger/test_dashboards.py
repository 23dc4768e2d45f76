"""Every panel of the dashboards has an answer of a real Prometheus, which scrapes two ledgers and an API."""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import pytest
from asked_prometheus import Ask, free_port, scraping
from metrics_process import Start
from prometheus.dashboards import Asked, all_asked, dashboards

from bandmaster.items.claiming import Claim
from bandmaster.items.opened import open_items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.workers import Workers, WorkerSigned
from waiting import wait_until

pytestmark = pytest.mark.slow

CHOSEN: Final = {
    "job": "ledger",
    "api": "api",
    "lane": ".*",
    "gate": ".*",
    "queue": ".*",
    "action": "resize",
    "__rate_interval": "1m",
    "__range": "1h",
}
"""What is chosen at the top of a dashboard, and what Grafana fills."""


def work(queue: ExecutionQueueService) -> None:
    """Let something happen of all that is counted, and leave one that runs as a pod and two behind its gate."""

    def send(name: str) -> None:
        queue.enqueue(ExecutionRequestedEvent(execution_id=name, action="resize", command=("true",)))

    for name, state, reason in (("done", State.COMPLETED, "Completed"), ("killed", State.FAILED, "OOMKilled")):
        send(name)
        assert queue.try_schedule()
        queue.transitions.hand_over(name, 1, f"pod-of-{name}", "uid")
        assert queue.transitions.release(name, 1, state, holder="pod:uid", reason=reason).code is Code.OK
    send("again")
    assert queue.try_schedule()
    queue.retry("again", 1, delay_ms=1)
    wait_until(queue.maintenance.promote, what="the retry is due")
    assert queue.try_schedule()
    queue.release("again", 2)
    queue.controls.set_limit("action:resize", 1)
    queue.controls.change_setting("max_concurrent", 50)
    queue.controls.pause("tenant:acme")
    for name in ("runs", "waits", "waits-too"):
        send(name)
    assert queue.try_schedule()
    queue.transitions.hand_over("runs", 1, "pod-of-runs", "uid")
    assert queue.try_schedule() is None


def work_on_items(ledger_url: str) -> None:
    """A queue of three items: one is done, one is held."""
    items = open_items(Asking(Database(ledger_url), queue="exec_queue"))
    fields = {"description": None, "max_retries": 2, "enforce_unique_reference": False, "is_active": True}
    queue = items.queues.create("invoices", by="a test", lease_seconds=300, retry_seconds=0, **fields)
    for number in range(3):
        items.adding.add(queue, by="a test", payload=number)
    done, _ = items.claiming.claim(Claim("invoices", "robot", count=2))
    items.outcome.say(done.item_id, Said(Status.DONE), robot_id="robot", fence=1)
    items.store.asking.database.close()


def sign(queue: ExecutionQueueService) -> None:
    """A worker of four threads lives; its signature holds for some seconds."""
    Workers(queue.scripts).sign(
        WorkerSigned(
            "w", "here", 1, "1", since_ms=1, threads=4, busy=1, lanes=("executions",), running=(), stopping=False
        )
    )


@contextmanager
def api_with_a_stream(folder: Path, redis_url: str, metrics_port: int) -> Generator[Callable[[], None]]:
    """The API's process, of which a stream is followed; and what asks it for something else."""
    port, token = free_port(), folder / "var" / "api-token"
    environment = os.environ | {
        "BANDMASTER_REDIS__URL": redis_url,
        "BANDMASTER_PATHS__VAR_DIR": str(token.parent),
        "BANDMASTER_API__PORT": str(port),
        "BANDMASTER_METRICS__API_PORT": str(metrics_port),
    }
    with (folder / "api.log").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "bandmaster.admin"], env=environment, stdout=output, stderr=output
        )
    connection = HTTPConnection("127.0.0.1", port, timeout=60)

    def follow() -> bool:
        assert process.poll() is None, (folder / "api.log").read_text()
        try:
            head = {"Authorization": f"Bearer {token.read_text().strip()}"}
            connection.request("GET", "/api/v1/events", headers=head)
        except OSError:
            connection.close()
            return False
        return connection.getresponse().status == 200

    def call() -> None:
        other = HTTPConnection("127.0.0.1", port, timeout=60)
        other.request("GET", "/api/v1/whoami")
        assert other.getresponse().status == 401
        other.close()

    try:
        wait_until(follow, what="the API's stream")
        yield call
    finally:
        connection.close()
        process.kill()
        process.wait()


def unanswered(ask: Ask, asked: list[Asked]) -> list[str]:
    """Those that have no number."""
    return [str(each) for each in asked if not any(math.isfinite(value) for _, value in ask(each.filled(CHOSEN)))]


def test_every_panel_has_an_answer(
    queue: ExecutionQueueService, start_serving: Start, redis_url: str, tmp_path: Path
) -> None:
    ledgers, api = (free_port(), free_port()), free_port()
    for port in ledgers:
        start_serving(str(port))
    queue.shares.share("mails", "user")
    queue.transitions.park(Candidate("mail", "mails", 2, "mail", message=b"hello"))
    with (
        scraping(tmp_path, {"ledger": ledgers, "api": [api]}) as ask,
        api_with_a_stream(tmp_path, redis_url, api) as call,
    ):
        begun = 'bandmaster_ended_total{reason="OOMKilled"} == 0'
        wait_until(lambda: len(ask(begun)) == 2, what="the first scrapes")
        work(queue)
        work_on_items(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
        left = all_asked()
        assert len(left) > 100

        def all_answered() -> bool:
            nonlocal left
            sign(queue)
            call()
            names = unanswered(ask, left)
            left = [each for each in left if str(each) in names]
            return not left

        try:
            wait_until(all_answered, what="an answer for each panel")
        except AssertionError:
            raise AssertionError(f"without a number: {[str(each) for each in left]}") from None

        def of(dashboard: str, panel: str) -> list[float]:
            (expression,) = {
                each.filled(CHOSEN)
                for each in all_asked()
                if (each.dashboard, each.panel, each.letter) == (dashboard, panel, "A")
            }
            return [value for _, value in ask(expression)]

        expected = {
            ("overview", "Waiting"): [3],
            ("overview", "Active"): [1],
            ("one-action", "Limit"): [1],
            ("one-action", "Paused"): [0],
            ("gates", "Full gates"): [1],
            ("gates", "Pauses"): [1],
            ("pods", "Pods"): [1],
            ("queues", "New"): [1],
            ("queues", "Ended in the last hour"): [1],
            ("pods", "Completed in this time"): [0.5],
            ("workers", "Threads"): [4],
        }

        def as_expected() -> bool:
            sign(queue)
            return {each: of(*each) for each in expected} == expected

        wait_until(
            as_expected,
            what="the figures of one installation, though two processes tell them",
        )
        for name, dashboard in dashboards().items():
            for variable in dashboard["templating"]["list"][1:]:
                selector, _, label = variable["query"]["query"].removeprefix("label_values(")[:-1].rpartition(", ")
                found = ask(Asked(name, "", "", selector).filled(CHOSEN))
                assert [labels for labels, _ in found if labels.get(label)], (name, variable["name"])
