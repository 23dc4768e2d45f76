"""An outage, a hang or a backlog of one shard leaves the other untouched; what was accepted there ends once."""

import signal
from collections import Counter

import pytest
from faults_server.own_server import OwnServer
from sharded_application import THREADS, Application

from bandmaster.scheduler.model.errors import QueueUnavailable
from waiting import wait_until

pytestmark = pytest.mark.slow

BACKLOG = 20_000


def test_each_band_is_on_its_own_server(application: Application) -> None:
    application.high.send("a")
    application.low.send("b")
    application.low.send_with_options(args=("c",), delay=3_600_000)
    assert (application.depth("default"), application.depth("low")) == (1, 1)
    assert application.broker.shards is not None
    low = application.broker.shards.brokers["low"].queue.on("default").views.status()
    assert (low.scheduled_count, low.pending_by_priority["LOW"]) == (1, 1)
    application.begin()
    wait_until(lambda: application.ran == {"high": ["a"], "low": ["b"]}, what="both run")


def test_many_are_sent_to_both_in_the_order_of_their_outcomes(application: Application) -> None:
    messages = [(application.high if n % 2 else application.low).message(str(n)) for n in range(300)]
    outcomes = application.broker.send_many(messages)
    assert [each.args for each in outcomes if not isinstance(each, Exception)] == [each.args for each in messages]
    assert (application.depth("default"), application.depth("low")) == (150, 150)


def test_while_one_is_killed_the_other_works_on(servers: dict[str, OwnServer], application: Application) -> None:
    application.holds.clear()
    for n in range(50):
        application.low.send(f"low {n}")
    application.begin()
    for _ in range(THREADS):
        assert application.began.acquire(timeout=60)
    servers["low"].kill()
    application.holds.set()  # its bodies end now, and their threads cannot settle
    with pytest.raises(QueueUnavailable):
        application.low.send("refused")
    for n in range(500):
        application.high.send(f"high {n}")
    wait_until(lambda: len(application.ran["high"]) == 500, what="all of the other shard's", timeout_seconds=120)
    assert len(application.ran["low"]) <= THREADS
    servers["low"].start()
    wait_until(lambda: len({*application.ran["low"]}) == 50, what="what had waited", timeout_seconds=120)
    wait_until(lambda: application.depth("low") == 0, what="nothing waits")
    application.stop()
    counted = Counter(application.ran["low"])
    assert {name for name, times in counted.items() if times > 1} <= {*application.ran["low"][:THREADS]}


@pytest.mark.parametrize("hung", ["low", "default"])
def test_while_one_hangs_the_other_works_on(servers: dict[str, OwnServer], application: Application, hung: str) -> None:
    sends, other = (application.low, "high") if hung == "low" else (application.high, "low")
    works = application.high if hung == "low" else application.low
    application.begin()
    sends.send("before")
    works.send("before")
    wait_until(lambda: application.ran == {"high": ["before"], "low": ["before"]}, what="both run")
    servers[hung].signal(signal.SIGSTOP)
    try:
        for n in range(200):
            works.send(str(n))
        wait_until(lambda: len(application.ran[other]) == 201, what="the other's", timeout_seconds=120)
    finally:
        servers[hung].signal(signal.SIGCONT)
    sends.send("after")
    mine = application.ran["low" if hung == "low" else "high"]
    wait_until(lambda: mine == ["before", "after"], what="it works again", timeout_seconds=60)


def test_a_worker_starts_while_one_is_away(servers: dict[str, OwnServer], application: Application) -> None:
    application.low.send("b")
    servers["default"].kill()
    application.begin()
    wait_until(lambda: application.ran["low"] == ["b"], what="the other works", timeout_seconds=60)
    servers["default"].start()
    application.high.send("a")
    wait_until(lambda: application.ran["high"] == ["a"], what="both work", timeout_seconds=60)


def test_a_backlog_of_one_holds_no_thread_of_the_other(application: Application) -> None:
    application.holds.clear()
    messages = [application.low.message(str(n)) for n in range(BACKLOG)]
    assert not [each for each in application.broker.send_many(messages) if isinstance(each, Exception)]
    application.begin()
    for _ in range(THREADS):
        assert application.began.acquire(timeout=60)  # as many as there are threads wait in its bodies
    for n in range(500):
        application.high.send(str(n))
    wait_until(lambda: len(application.ran["high"]) == 500, what="all of the other shard's", timeout_seconds=120)
    assert application.ran["low"] == []
    assert application.depth("low") == BACKLOG - THREADS
