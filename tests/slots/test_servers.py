"""Redis goes away while somebody waits for a slot: started again, emptied, or the reply of a call lost."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from crowding import NAME, crowd, is_free
from faults_server.own_server import OwnServer

from bandmaster import ExecutionQueueService, Slots
from bandmaster.scheduler.server.connection import client_of
from waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[OwnServer]:
    """A server that a test may harm."""
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        own = OwnServer(Path(folder), appendfsync="always")
        own.start()
        yield own
        own.end()


def test_waits_and_slots_survive_a_server_that_is_started_again(server: OwnServer) -> None:
    queue = ExecutionQueueService(client_of(server.url))
    with Slots(queue) as slots, crowd(slots, queue, limit=1) as waiting:
        for who in ("holds", "waits", "waits too"):
            waiting.enter(who)
        server.kill()
        server.start()
        assert queue.action_statistics(NAME).queue_length == 2
        waiting.leave("holds")
        wait_until(lambda: waiting.has_got("holds", "waits"), what="the one that waits")
        waiting.leave("waits")
        wait_until(lambda: waiting.has_got("holds", "waits", "waits too"), what="the other")
        waiting.leave("waits too")
        wait_until(lambda: is_free(queue))
        assert not waiting.errors


def test_a_slot_given_back_while_the_server_is_away_is_given_back_later(server: OwnServer) -> None:
    queue = ExecutionQueueService(client_of(server.url), deadline_seconds=3.0)
    with Slots(queue) as slots:
        with slots.slot(NAME, limit=1):
            server.kill()
        server.start()
        wait_until(lambda: is_free(queue), what="the slot")


def test_who_waits_is_sent_again_in_order_to_a_server_that_was_emptied(
    slots: Slots, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.controls.change_setting("lease_ttl_ms", 3_000)
    with crowd(slots, queue, limit=1) as waiting:
        for who in ("holds", "1", "2", "3"):
            waiting.enter(who)
        redis_client.flushdb()
        wait_until(lambda: waiting.has_got("holds", "1"), what="the first, as nobody holds anything any more")
        assert queue.action_statistics(NAME).max_concurrent == 1, "the limit is declared again"
        waiting.leave("holds", "1", "2", "3")
        wait_until(lambda: waiting.has_got("holds", "1", "2", "3"), what="the others")


def test_who_holds_a_slot_is_told_that_it_is_lost(
    slots: Slots, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.controls.change_setting("lease_ttl_ms", 3_000)
    with slots.slot(NAME, limit=1) as held:
        redis_client.flushdb()
        wait_until(lambda: held.is_lost, what="the next renewal")
    assert is_free(queue)


def test_no_wait_ends_when_the_servers_clock_leaps(
    slots: Slots, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    with crowd(slots, queue, limit=1) as waiting:
        for who in ("holds", "waits", "waits too"):
            waiting.enter(who)
        # As far as Redis can tell, their time is over.
        for execution_id in queue.on(f"slot:{NAME}").views.pending():
            redis_client.hset(queue.scripts.keys.meta(execution_id), "expires_at", "1")
            redis_client.zadd(queue.scripts.keys.named("deadlines"), {execution_id: 1})
        queue.maintenance.sweep()
        wait_until(lambda: queue.action_statistics(NAME).queue_length == 2, what="those that are sent again")
        waiting.leave("holds", "waits", "waits too")
        wait_until(lambda: waiting.has_got("holds", "waits", "waits too"))
        assert not waiting.errors
