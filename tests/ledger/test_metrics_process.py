"""The process serves metrics whether or not it consumes, and a taken port is told before anything else."""

import signal
import socket

import pytest
from metrics_process import Start
from scraped import port_of, scrape_port, value

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow


def test_who_consumes_and_who_waits_serve_the_same(queue: ExecutionQueueService, start_serving: Start) -> None:
    first, log = start_serving("0")
    port = port_of(log)
    wait_until(lambda: "consumer_begins" in log.read_text(), what="the consumer")
    _, other_log = start_serving("0")
    other_port = port_of(other_log)
    for number in range(7):
        queue.enqueue(ExecutionRequestedEvent(execution_id=f"e-{number}", action="resize", command=("true",)))
    for each in (port, other_port):
        wait_until(lambda each=each: value(scrape_port(each), "queue_enqueue_total") == 7, what="all seven")
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=GENEROUS_SECONDS) == 0, log.read_text()
    assert value(scrape_port(other_port), "queue_enqueue_total") == 7


@pytest.mark.usefixtures("redis_client")
def test_a_taken_port_is_told_in_one_line(start_serving: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process, log = start_serving(str(port))
        assert process.wait(timeout=GENEROUS_SECONDS) == 1
    told = log.read_text().splitlines()[-1]
    assert f"127.0.0.1:{port}: the port is taken; see metrics.host and metrics.port" in told
    assert "served" not in log.read_text()
    assert "ledger_started" not in log.read_text()
