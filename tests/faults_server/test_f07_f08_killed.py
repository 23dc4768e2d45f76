"""F7, F8: SIGKILL of the server while producers send: what was accepted is there when it comes back, in its order.

The kernel keeps what a killed process has written, so the second that `everysec` may lose shows only when the machine
itself goes down; what is shown here is that the engine keeps nothing back, and repairs nothing away, in either mode.
"""

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from defects.contrast import event
from history import History
from redis.backoff import NoBackoff
from redis.retry import Retry

from bandmaster.scheduler.errors import DuplicateExecution, QueueUnavailable
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.states import State
from faults_server.own_server import OwnServer
from waiting import wait_until

PRODUCERS = 4
ACCEPTED_BEFORE = 200
"""So many were accepted when the server is killed."""


@pytest.fixture(params=["always", "everysec"])
def server(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    """Runs."""
    # Not pytest's folder: its path may be longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        own = OwnServer(Path(folder), appendfsync=request.param)
        own.start()
        yield own
        own.end()


class Producer:
    """Sends one execution after the other until the server is gone; then sends the doubtful one again."""

    def __init__(self, number: int, url: str) -> None:
        self.accepted: list[str] = []
        self.doubtful: str | None = None
        self._number = number
        self.client = redis.Redis.from_url(url, socket_timeout=1, retry=Retry(NoBackoff(), 0))
        self.queue = ExecutionQueueService(self.client)
        self.thread = threading.Thread(target=self._send)

    def _send(self) -> None:
        while self.doubtful is None:
            execution_id = f"p{self._number}-{len(self.accepted)}"
            try:
                self.queue.enqueue(event(execution_id))
            except QueueUnavailable:
                self.doubtful = execution_id
            else:
                self.accepted.append(execution_id)

    def send_again(self) -> None:
        """As a caller does who was told that nothing is known."""
        assert self.doubtful is not None
        try:
            self.queue.enqueue(event(self.doubtful))
        except DuplicateExecution:
            return


def test_a_killed_server_comes_back_with_all_that_was_accepted(server: OwnServer) -> None:
    producers = [Producer(number, server.url) for number in range(PRODUCERS)]
    for producer in producers:
        producer.thread.start()
    wait_until(lambda: sum(len(producer.accepted) for producer in producers) >= ACCEPTED_BEFORE, what="some work")
    server.kill()
    for producer in producers:
        producer.thread.join()
    server.start()

    queue = producers[0].queue
    for producer in producers:
        for execution_id in producer.accepted:
            assert queue.views.meta(execution_id)["state"] == State.PENDING
        producer.send_again()
    expected = sum(len(producer.accepted) + 1 for producer in producers)
    assert queue.get_queue_status() == {"queue_depth": expected, "active_count": 0}
    order: list[str] = []
    while (started := queue.try_schedule()) is not None:
        order.append(started[0])
        queue.release(started[0])
    assert len(order) == len(set(order)) == expected
    for producer in producers:
        mine = [execution_id for execution_id in order if execution_id in {*producer.accepted, producer.doubtful}]
        assert mine == [*producer.accepted, producer.doubtful]
    # What an interrupted write left of the journal is whole as well.
    assert History(10, {}).read(queue.views.journal()).living() == []
    for producer in producers:
        producer.client.close()
