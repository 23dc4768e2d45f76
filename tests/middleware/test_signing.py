"""A worker signs with its threads, its lanes and what they run, until it stops; nothing waits for that."""

import threading

import dramatiq
import pytest
from working import running

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.workers import Workers
from waiting import GENEROUS_SECONDS, wait_until


@pytest.fixture
def workers(queue: ExecutionQueueService) -> Workers:
    return Workers(queue.scripts)


def test_a_worker_says_what_its_threads_do(broker: BandedRedisBroker, workers: Workers) -> None:
    began, goes = threading.Event(), threading.Event()

    @dramatiq.actor(band="HIGH", queue_name="emails")
    def work() -> None:
        began.set()
        assert goes.wait(60)

    with running(broker, threads=3):
        (idle,) = wait_until(workers.alive, what="the signature")
        assert (idle.threads, idle.busy, idle.running, idle.stopping) == (3, 0, (), False)
        assert idle.lanes == ("emails",)
        work.send()
        assert began.wait(GENEROUS_SECONDS)
        (busy,) = wait_until(lambda: [each for each in workers.alive() if each.busy], what="a busy thread")
        (one,) = busy.running
        assert (one.lane, one.attempt, busy.busy, busy.worker_id) == ("emails", 1, 1, idle.worker_id)
        goes.set()
        wait_until(lambda: [each for each in workers.alive() if not each.busy], what="an idle thread")
    assert workers.alive() == [], "it has left"
