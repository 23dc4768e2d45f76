"""F7, F8: SIGKILL of the server while producers send: what was accepted is there when it comes back, in its order.

With `always`, all of it. With `everysec`, what was accepted up to two seconds before: a write waits at most so long for
an fsync that is under way. The kernel keeps what a killed process has written, so usually nothing is lost here either.
"""

import math
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from defects.contrast import event
from history import History
from redis.backoff import NoBackoff
from redis.retry import Retry

from bandmaster.scheduler.model.errors import DuplicateExecution, QueueUnavailable
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from faults_server.own_server import OwnServer
from waiting import wait_until

pytestmark = pytest.mark.slow

PRODUCERS = 4
ACCEPTED_BEFORE = 200
"""So many were accepted when the server is killed."""
PAUSE_SECONDS = 0.005
WINDOW_SECONDS = {"always": 0.0, "everysec": 2.0}
"""What was accepted longer ago must not be lost."""


@pytest.fixture(params=list(WINDOW_SECONDS))
def appendfsync(request: pytest.FixtureRequest) -> str:
    """How durable the server is."""
    return request.param


@pytest.fixture
def server(appendfsync: str) -> Iterator[OwnServer]:
    """Runs."""
    # Not pytest's folder: its path may be longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        own = OwnServer(Path(folder), appendfsync=appendfsync)
        own.start()
        yield own
        own.end()


class Producer:
    """Sends one execution after the other until the server is gone; then sends the doubtful one again."""

    def __init__(self, number: int, url: str) -> None:
        self.accepted: list[str] = []
        self.accepted_at: list[float] = []
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
                self.accepted_at.append(time.monotonic())
                time.sleep(PAUSE_SECONDS)  # the pace of a producer, not a wait for something

    def kept(self, must_be_kept_before: float) -> list[str]:
        """What the server still has: all, or all up to some point that is not too early."""
        metas = self.queue.views.metas(self.accepted)
        count = sum(1 for meta in metas if meta)
        assert all(metas[:count]), "lost from the middle"
        assert all(meta["state"] == State.PENDING for meta in metas[:count])
        assert all(at >= must_be_kept_before for at in self.accepted_at[count:]), "lost although it was durable"
        return self.accepted[:count]

    def send_again(self) -> None:
        """As a caller does who was told that nothing is known."""
        assert self.doubtful is not None
        try:
            self.queue.enqueue(event(self.doubtful))
        except DuplicateExecution:
            return


def test_a_killed_server_comes_back_with_what_it_had_to_keep(server: OwnServer, appendfsync: str) -> None:
    window_seconds = WINDOW_SECONDS[appendfsync]
    producers = [Producer(number, server.url) for number in range(PRODUCERS)]
    durable_from = time.monotonic() + window_seconds
    for producer in producers:
        producer.thread.start()
    wait_until(
        lambda: sum(len(each.accepted) for each in producers) >= ACCEPTED_BEFORE and time.monotonic() > durable_from,
        what="some work",
    )
    killed_at = time.monotonic()
    server.kill()
    for producer in producers:
        producer.thread.join()
    server.start()

    queue = producers[0].queue
    expected: list[list[str]] = []
    for producer in producers:
        kept = producer.kept(killed_at - window_seconds if window_seconds else math.inf)
        producer.send_again()
        assert producer.doubtful is not None
        expected.append([*kept, producer.doubtful])
    count = sum(map(len, expected))
    assert queue.get_queue_status() == {"queue_depth": count, "active_count": 0}
    order: list[str] = []
    while (started := queue.try_schedule()) is not None:
        order.append(started[0])
        queue.release(started[0])
    assert len(order) == len(set(order)) == count
    for mine in expected:
        assert [execution_id for execution_id in order if execution_id in set(mine)] == mine
    # What an interrupted write left of the journal is whole as well.
    assert History(10, {}).read(queue.journal.entries()).living() == []
    for producer in producers:
        producer.client.close()
