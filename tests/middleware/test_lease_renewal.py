"""The heartbeat: what a beat could not renew, the next round does."""

import time

import dramatiq
import pytest
from logged import events
from proxy import Command, proxy_before

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.middleware.grants.lease_renewal import LeaseRenewal
from bandmaster.scheduler.server.connection import client_of
from waiting import wait_until

LEASE_TTL_MS = 300_000
"""Whose third is far longer than this test may take."""


def test_a_beat_that_failed_is_made_up_for_in_the_next_round(
    redis_url: str, queue: ExecutionQueueService, caplog: pytest.LogCaptureFixture
) -> None:
    with proxy_before(redis_url) as proxy:
        broker = BandedRedisBroker(client=client_of(proxy.url), lease_ttl_ms=LEASE_TTL_MS)

        @dramatiq.actor(broker=broker, band="HIGH")
        def work() -> None: ...

        work.send()
        (grant,) = queue.transitions.admit(("default",), 1, lease_ms=LEASE_TTL_MS).grants
        entry = broker.gate.held.add(grant, time.monotonic())
        deadline = entry.deadline
        proxy.refuses = True
        proxy.break_connections()
        heartbeat = broker.process._heartbeat.rounds  # pyright: ignore[reportPrivateUsage]  # without a worker
        heartbeat.start()
        wait_until(lambda: "round_failed" in events(caplog), what="a beat that fails")
        assert entry.deadline == deadline
        proxy.refuses = False
        wait_until(lambda: entry.deadline > deadline, what="the lease is renewed")
        broker.close()
        broker.plain_client.connection_pool.disconnect()


def test_a_lease_counts_from_before_its_renewal_was_sent(
    broker: BandedRedisBroker, queue: ExecutionQueueService, redis_url: str
) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    work.send()
    (grant,) = queue.transitions.admit(("default",), 1).grants
    entry = broker.gate.held.add(grant, time.monotonic() - LEASE_TTL_MS)
    arrived: list[float] = []

    def note(_: Command) -> bool:
        arrived.append(time.monotonic())
        return False

    with proxy_before(redis_url) as proxy, client_of(proxy.url) as client:
        proxy.lose_reply(note)
        renewal = LeaseRenewal(ExecutionQueueService(client).transitions, broker.gate.held, LEASE_TTL_MS, lambda: None)
        before = time.monotonic()
        renewal.beat()
    assert before <= entry.deadline - LEASE_TTL_MS / 1000 <= arrived[0]
