"""A wait on lists ends when it is to end, and not when the server next looks at its clock."""

import time
from typing import Any

import pytest
import redis

from bandmaster.scheduler.transport import blocking
from bandmaster.scheduler.transport.blocking import pop_first
from waiting import GENEROUS_SECONDS

SECONDS = 0.03
TIMES = 7


def test_a_short_wait_is_ended_by_who_waits_and_not_at_the_next_turn_of_the_servers_clock(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "_LATE_SECONDS", 600.0)  # the server ends none
    redis_client.config_resetstat()
    for _ in range(TIMES):
        began = time.monotonic()
        assert pop_first(redis_client, ["nothing"], SECONDS) is None
        assert time.monotonic() - began >= SECONDS
    assert redis_client.info("commandstats")["cmdstat_client|unblock"]["calls"] == TIMES


def test_what_is_there_or_comes_is_taken_and_the_connection_is_of_use_afterwards(redis_client: redis.Redis) -> None:
    for seconds in (SECONDS, 1.0):
        redis_client.rpush("second", "one", "two")
        assert pop_first(redis_client, ["first", "second"], seconds) == (b"second", b"one")
        assert pop_first(redis_client, ["first", "second"], seconds) == (b"second", b"two")
        assert pop_first(redis_client, ["first", "second"], SECONDS) is None
        assert redis_client.ping()


def test_a_long_wait_costs_one_command_however_short_the_clients_timeout_is(redis_client: redis.Redis) -> None:
    client = redis.Redis(connection_pool=pool_like(redis_client, socket_timeout=GENEROUS_SECONDS))
    client.ping()
    # It bounds the server's wait; the connection, which is there, waits for a server on a busy machine.
    client.connection_pool.connection_kwargs["socket_timeout"] = 0.2
    redis_client.config_resetstat()
    with redis_client.monitor() as monitor:
        assert pop_first(client, ["nothing"], 1.0) is None
        seen: Any = monitor.next_command()
        assert seen["command"] == "BLPOP nothing 0.1", "half of the timeout"
    calls = redis_client.info("commandstats")
    client.close()
    assert calls["cmdstat_blpop"]["calls"] == 1
    assert "cmdstat_client|id" not in calls


def pool_like(client: redis.Redis, **changed: Any) -> redis.ConnectionPool:
    """Another pool of the same server."""
    given: Any = client.connection_pool
    options: dict[str, Any] = {**given.connection_kwargs, **changed}
    return redis.ConnectionPool(connection_class=given.connection_class, **options)


def test_a_user_who_may_end_no_waits_waits_until_the_server_ends_it(redis_client: redis.Redis) -> None:
    redis_client.acl_setuser("waits", enabled=True, nopass=True, keys=["*"], commands=["+@all", "-client|unblock"])
    pool = pool_like(redis_client, username="waits", password="any")
    try:
        assert pop_first(redis.Redis(connection_pool=pool), ["nothing"], SECONDS) is None
    finally:
        pool.disconnect()
        redis_client.acl_deluser("waits")


def test_without_a_second_connection_the_server_ends_the_wait(redis_client: redis.Redis) -> None:
    pool = pool_like(redis_client, max_connections=1)
    assert pop_first(redis.Redis(connection_pool=pool), ["nothing"], SECONDS) is None
    redis_client.rpush("first", "one")
    assert pop_first(redis.Redis(connection_pool=pool), ["first"], SECONDS) == (b"first", b"one")
    pool.disconnect()
