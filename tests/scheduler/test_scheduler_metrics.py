"""Without a ledger, the scheduler process that leads serves what Redis tells; the others say who leads."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis
from prometheus_client.registry import Collector
from scraped import port_of, scrape, scrape_port, value

from bandmaster.scheduler.engine.engine import Engine
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.keys import Keys
from bandmaster.scheduler.metrics.queue_collector import QueueCollector
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.scripts import Scripts
from waiting import wait_until

Start = Callable[[str], tuple["subprocess.Popen[bytes]", Path]]


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    return ExecutionQueueService(redis_client)


@pytest.fixture
def start(redis_url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts a scheduler process that serves metrics at a port; the process, and its log."""
    environment = os.environ | {
        "BANDMASTER_REDIS__URL": redis_url,
        "BANDMASTER_SCHEDULER__LEADER_TTL_MS": "1000",
        "BANDMASTER_LOGGING__FORMAT": "json",
    }
    with ExitStack() as ends:

        def start(port: str) -> "tuple[subprocess.Popen[bytes], Path]":
            log = tmp_path / f"log-{len(list(tmp_path.glob('log-*')))}"
            with log.open("w") as output:
                process = subprocess.Popen(
                    [sys.executable, "-m", "bandmaster.scheduler"],
                    env=environment | {"BANDMASTER_METRICS__SCHEDULER_PORT": port},
                    stdout=output,
                    stderr=output,
                )
            ends.callback(process.wait)
            ends.callback(process.kill)
            return process, log

        yield start


def test_who_leads_serves_what_redis_tells(queue: ExecutionQueueService, start: Start) -> None:
    for number in range(3):
        queue.enqueue(ExecutionRequestedEvent(execution_id=f"e-{number}", action="resize", command=("true",)))
    first, log = start("0")
    first_port = port_of(log)
    wait_until(lambda: value(scrape_port(first_port), "queue_depth") == 3, what="the depth")
    series = scrape_port(first_port)
    assert value(series, "bandmaster_leader") == value(series, "bandmaster_redis_up") == 1
    assert value(series, "bandmaster_action_enqueued_total", action="resize") == 3

    _, other_log = start("0")
    other_port = port_of(other_log)
    assert {name for name, _ in scrape_port(other_port)} == {"bandmaster_leader", "bandmaster_redis_up"}
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=60) == 0, log.read_text()
    wait_until(lambda: value(scrape_port(other_port), "queue_depth") == 3, what="the next leader's figures")


@pytest.mark.usefixtures("redis_client")
def test_a_taken_port_is_told_in_one_line(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process, log = start(str(port))
        assert process.wait(timeout=60) == 1
    told = log.read_text().splitlines()[-1]
    assert f"127.0.0.1:{port}: the port is taken; see metrics.host and metrics.scheduler_port" in told
    assert "scheduler_started" not in log.read_text()


@pytest.mark.parametrize("leads", [True, False])
def test_without_redis_nothing_is_told_but_that(leads: bool) -> None:
    away = Engine(Scripts(redis.Redis(port=1), Keys("exec_queue"), deadline_seconds=0.1))
    collector: Collector = QueueCollector(away, gates=20, leads=lambda: leads)
    assert scrape(collector) == {("bandmaster_redis_up", frozenset[tuple[str, str]]()): 0}
