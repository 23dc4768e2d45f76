"""F14, a worker's side: what its server has forgotten is granted to it again, under the same attempt. The old grant is
refused, and gives its thread back like any other.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
from dramatiq import Worker
from history import History

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.server.connection import client_of
from faults_server.restoring import RestoringServer, restoring_server
from waiting import GENEROUS_MS, wait_until

pytestmark = pytest.mark.slow

THREADS = 4
WAIT_SECONDS = 60.0


@pytest.fixture
def server() -> Iterator[RestoringServer]:
    """Runs."""
    with restoring_server() as running:
        yield running


@pytest.mark.parametrize("lease_ttl_ms", [2_000, 60_000], ids=["the heartbeat is told", "the release is told"])
def test_grants_of_a_server_s_lost_past_are_refused_and_lose_no_thread(
    server: RestoringServer, lease_ttl_ms: int
) -> None:
    broker = BandedRedisBroker(client=client_of(server.url), lease_ttl_ms=lease_ttl_ms)
    queue = broker.queue
    begun: Counter[int] = Counter()
    old_go_on, new_go_on = threading.Event(), threading.Event()
    together = threading.Barrier(THREADS)

    @dramatiq.actor(broker=broker, band="HIGH")
    def work(number: int) -> None:
        begun[number] += 1
        (old_go_on if begun[number] == 1 else new_go_on).wait(WAIT_SECONDS)

    @dramatiq.actor(broker=broker, band="HIGH", max_retries=0)
    def at_once() -> None:
        together.wait(WAIT_SECONDS)

    sent = [work.send(number) for number in range(THREADS // 2)]
    server.remember()
    worker = Worker(broker, worker_timeout=100, worker_threads=THREADS)
    worker.start()
    try:
        wait_until(lambda: begun == {0: 1, 1: 1}, what="the first grants")
        old = broker.gate.held.all()
        server.restore()
        wait_until(lambda: begun == {0: 2, 1: 2}, timeout_seconds=WAIT_SECONDS, what="the same granted again")
        assert [entry.grant.attempt for entry in broker.gate.held.all()] == [1] * THREADS
        if lease_ttl_ms < WAIT_SECONDS * 1000:
            wait_until(lambda: all(entry.stale for entry in old), what="the heartbeat is told")
        old_go_on.set()
        wait_until(lambda: broker.process.permits.free == THREADS // 2, what="the old ones' threads")
        assert {queue.views.meta(each.message_id)["state"] for each in sent} == {State.RUNNING}
        new_go_on.set()
        broker.join("default", timeout=GENEROUS_MS)
        wait_until(lambda: broker.process.permits.free == THREADS, what="every permit is back")
        last = [at_once.send() for _ in range(THREADS)]
        broker.join("default", timeout=GENEROUS_MS)
    finally:
        worker.stop(timeout=GENEROUS_MS)
        broker.close()
    ended = {queue.views.meta(each.message_id)["state"] for each in (*sent, *last)}
    assert ended == {State.COMPLETED}, "and all threads took work at once"
    history = History(10, {}).read(queue.journal.entries())
    assert history.living() == []
    released: Any = Counter(entry.execution_id for entry in queue.journal.entries() if entry.verb == "release")
    assert released == dict.fromkeys((each.message_id for each in (*sent, *last)), 1)
