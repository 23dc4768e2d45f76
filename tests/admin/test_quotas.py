"""Quotas as they are counted in Redis: shared, for a minute of the server's clock, in a bounded number of keys."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import pytest
from calling import Clock

from bandmaster.admin.errors import Refused
from bandmaster.admin.quotas.counter import Counter
from bandmaster.admin.quotas.networks import network_of
from bandmaster.admin.quotas.quota import Quota
from bandmaster.scheduler.queue import ExecutionQueueService

KEYS = "exec_queue:quota:*"


@pytest.fixture
def queue(redis_client: Any) -> Iterator[ExecutionQueueService]:
    queue = ExecutionQueueService(redis_client)
    yield queue
    queue.close()


def quota(queue: ExecutionQueueService, most: int, clock: Clock | None = None, *, most_kept: int = 100) -> Quota:
    """As one process has it."""
    clock = clock or Clock()
    counter = Counter(queue.scripts, clock=clock)
    return Quota("requests", most, counter, setting="requests_per_minute", most_kept=most_kept, clock=clock)


async def got(quota: Quota, whose: str, tries: int) -> int:
    """How many of some tries were not refused."""
    count = 0
    for _ in range(tries):
        try:
            await quota.take(whose)
            count += 1
        except Refused:
            continue
    return count


def test_processes_share_a_quota_and_never_give_more(queue: ExecutionQueueService) -> None:
    async def play() -> None:
        one, two, three = (quota(queue, 100) for _ in range(3))
        given = await got(one, "ann", 1) + await got(two, "ann", 200) + await got(three, "ann", 10)
        # The first has four of its five in hand, which nobody else gets.
        assert given == 96
        assert await got(one, "ann", 10) == 4
        assert await got(two, "bob", 200) == 100

    asyncio.run(play())


def test_many_at_once_are_counted_once_each(queue: ExecutionQueueService) -> None:
    async def play() -> None:
        one, two = quota(queue, 100), quota(queue, 100)
        counts = await asyncio.gather(*(got(each, "ann", 1) for each in (one, two) * 150))
        assert sum(counts) == 100

    asyncio.run(play())


def test_few_ask_redis(queue: ExecutionQueueService, redis_client: Any) -> None:
    redis_client.config_resetstat()
    assert asyncio.run(got(quota(queue, 1_000), "ann", 2_000)) == 1_000
    assert redis_client.info("commandstats")["cmdstat_incrby"]["calls"] == 20


def test_a_minute_begins_with_the_first_and_is_the_servers(queue: ExecutionQueueService, redis_client: Any) -> None:
    async def play() -> None:
        clock = Clock()
        one = quota(queue, 10, clock)
        assert await got(one, "ann", 20) == 10
        (key,) = redis_client.scan_iter(KEYS)
        assert 0 < redis_client.pttl(key) <= 60_000
        redis_client.pexpire(key, 5_000)
        clock.now += 30
        with pytest.raises(Refused) as refused:
            await one.take("ann")
        assert (refused.value.status, refused.value.code) == (429, "rate_limited")
        assert 20 < int(refused.value.headers["Retry-After"]) <= 30
        # Another process learns what the server says.
        with pytest.raises(Refused) as refused:
            await quota(queue, 10, clock).take("ann")
        assert 1 <= int(refused.value.headers["Retry-After"]) <= 5
        clock.now += 31
        redis_client.delete(key)
        assert await got(one, "ann", 20) == 10

    asyncio.run(play())


def test_a_server_whose_clock_goes_back_lengthens_no_minute(queue: ExecutionQueueService, redis_client: Any) -> None:
    async def play() -> None:
        assert await got(quota(queue, 10), "ann", 3) == 3
        (key,) = redis_client.scan_iter(KEYS)
        # What a minute looks like to a server whose clock went back by an hour.
        redis_client.pexpire(key, 3_660_000)
        await got(quota(queue, 10), "ann", 1)
        assert 0 < redis_client.pttl(key) <= 60_000
        # And one that would stay for ever.
        redis_client.persist(key)
        await got(quota(queue, 10), "ann", 1)
        assert 0 < redis_client.pttl(key) <= 60_000

    asyncio.run(play())


def test_what_is_given_back_is_had_again(queue: ExecutionQueueService) -> None:
    async def play() -> None:
        one = quota(queue, 3)
        for _ in range(10):
            one.give_back(await one.take("ann"))
        assert await got(one, "ann", 5) == 3

    asyncio.run(play())


def test_however_many_callers_come_there_are_so_many_keys(queue: ExecutionQueueService, redis_client: Any) -> None:
    async def play() -> None:
        one = quota(queue, 2, most_kept=5)
        for number in range(100):
            # Those that find no place are counted in this process alone.
            assert await got(one, f"stranger-{number}", 3) == 2
        keys = list(redis_client.scan_iter(KEYS))
        assert len(keys) == 5
        assert all(0 < redis_client.pttl(key) <= 60_000 for key in keys)
        assert not any(b"stranger" in key for key in keys)

    asyncio.run(play())


NETWORKS: Final[list[tuple[str, str]]] = [
    ("192.0.2.7", "192.0.2.7"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
    ("2001:db8:1:3::9", "2001:db8:1:3::/64"),
    ("::ffff:192.0.2.7", "192.0.2.7"),
    ("fe80::1%eth0", "fe80::/64"),
    ("unknown", "'unknown'"),
    ("1.2.3.4\r\nx", "'1.2.3.4\\r\\nx'"),
]


def test_an_address_of_ipv6_stands_for_its_network(subtests: pytest.Subtests) -> None:
    for address, network in NETWORKS:
        with subtests.test(address=address, network=network):
            assert network_of(address) == network
