"""The process serves metrics whether or not it consumes, and a taken port is told before anything else."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from scraped import scrape_port, value

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

Start = Callable[[str], tuple["subprocess.Popen[bytes]", Path]]


@pytest.fixture
def start(redis_url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts a process that serves metrics at a port; the process, and its log."""
    environment = os.environ | {
        "BANDMASTER_REDIS__URL": redis_url,
        "BANDMASTER_LEDGER__URL": f"sqlite:///{tmp_path / 'ledger.sqlite3'}",
        "BANDMASTER_LEDGER__LEASE_MS": "1000",
        "BANDMASTER_LOGGING__FORMAT": "json",
    }
    with ExitStack() as ends:
        started: list[Path] = []

        def start(port: str) -> "tuple[subprocess.Popen[bytes], Path]":
            log = tmp_path / f"log-{len(started)}"
            started.append(log)
            with log.open("w") as output:
                process = subprocess.Popen(
                    [sys.executable, "-m", "bandmaster.ledger"],
                    env=environment | {"BANDMASTER_METRICS__PORT": port},
                    stdout=output,
                    stderr=output,
                )
            ends.callback(process.wait)
            ends.callback(process.kill)
            return process, log

        yield start


def port_of(log: Path) -> int:
    found = wait_until(lambda: re.search(r'"port": (\d+)', log.read_text()), what="its port")
    return int(found[1])


def test_who_consumes_and_who_waits_serve_the_same(queue: ExecutionQueueService, start: Start) -> None:
    first, log = start("0")
    port = port_of(log)
    wait_until(lambda: "consumer_begins" in log.read_text(), what="the consumer")
    _, other_log = start("0")
    other_port = port_of(other_log)
    for number in range(7):
        queue.enqueue(ExecutionRequestedEvent(execution_id=f"e-{number}", action="resize", command=("true",)))
    for each in (port, other_port):
        wait_until(lambda each=each: value(scrape_port(each), "queue_enqueue_total") == 7, what="all seven")
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=30) == 0, log.read_text()
    assert value(scrape_port(other_port), "queue_enqueue_total") == 7


@pytest.mark.usefixtures("redis_client")
def test_a_taken_port_is_told_in_one_line(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process, log = start(str(port))
        assert process.wait(timeout=60) == 1
    told = log.read_text().splitlines()[-1]
    assert f"127.0.0.1:{port}: the port is taken; see metrics.host and metrics.port" in told
    assert "served" not in log.read_text()
    assert "ledger_started" not in log.read_text()
