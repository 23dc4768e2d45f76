"""Servers behind Sentinel: every way to the queue finds the primary, and after a failover the new one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import dramatiq
import pytest
import redis
from defects.contrast import event
from dramatiq import Worker

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.configs.areas import RedisSettings
from bandmaster.configs.redaction import redacted_url
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.server.connection import client_of, connect
from waiting import wait_until

from .sentinel_group import SentinelGroup

pytestmark = pytest.mark.slow

FAILOVERS: Final[dict[str, Callable[[SentinelGroup], None]]] = {
    "the primary is killed": SentinelGroup.kill_primary,
    "the primary becomes a replica": SentinelGroup.fail_over,
}


@pytest.fixture
def group(tmp_path: Path) -> Iterator[SentinelGroup]:
    group = SentinelGroup(tmp_path)
    yield group
    group.end()


def accepted(queue: ExecutionQueueService, name: str) -> bool:
    try:
        return queue.enqueue(event(name)) >= 0
    except QueueUnavailable:
        return False


def sent(actor: "dramatiq.Actor[[str], None]", name: str) -> bool:
    try:
        actor.send(name)
    except redis.ConnectionError:
        return False
    return True


@pytest.mark.parametrize("failover", FAILOVERS)
def test_the_queue_and_a_worker_find_the_new_primary(group: SentinelGroup, failover: str) -> None:
    broker = BandedRedisBroker(url=group.url)
    ran: list[str] = []

    @dramatiq.actor(broker=broker, band="HIGH")
    def gated(name: str) -> None:
        ran.append(name)

    @dramatiq.actor(broker=broker, queue_name="plain")
    def plain(name: str) -> None:
        ran.append(name)

    worker = Worker(broker, worker_timeout=100, worker_threads=2)
    worker.start()
    try:
        gated.send("gated before")
        plain.send("plain before")
        wait_until(lambda: len(ran) == 2, what="both run on the first primary")
        FAILOVERS[failover](group)
        wait_until(group.is_over, what="the failover", timeout_seconds=60)
        wait_until(lambda: accepted(broker.queue, "x"), what="the queue accepts again", timeout_seconds=60)
        gated.send("gated after")
        wait_until(lambda: sent(plain, "plain after"), what="Dramatiq's own client sends again")
        wait_until(lambda: {"gated after", "plain after"} <= {*ran}, what="both run on the new one", timeout_seconds=60)
        assert broker.queue.views.meta("x")["state"] == "PENDING"
    finally:
        worker.stop()
        broker.close()


def test_settings_name_sentinels(group: SentinelGroup) -> None:
    settings = Settings(redis=RedisSettings(url=group.url))
    with connect(settings, wait_seconds=10) as client:
        assert client.ping()
        assert accepted(ExecutionQueueService(client), "x")
    assert group.keys_of(group.ports[0]) > 0


def test_a_service_that_no_sentinel_knows_is_named(group: SentinelGroup) -> None:
    url = group.url.replace("/queue/", "/other/")
    with pytest.raises(QueueUnavailable, match="no sentinel names a primary of 'other'"):
        connect(Settings(redis=RedisSettings(url=url)), wait_seconds=0)


@pytest.mark.parametrize("url", ["redis+sentinel://h1,h2", "redis+sentinel:///queue", "redis+sentinel://h1:x/queue"])
def test_a_url_of_sentinels_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"redis\+sentinel://host:26379"):
        RedisSettings(url=url)
    with pytest.raises(QueueUnavailable, match="the server's URL cannot be used"):
        client_of(url)


def test_no_password_of_a_url_of_sentinels_is_shown() -> None:
    shown = redacted_url("redis+sentinel://ann:hunter2@h1:26379,h2/queue/0?sentinel_password=hunter3")
    assert shown == "redis+sentinel://ann:***@h1:26379,h2/queue/0?sentinel_password=***"
