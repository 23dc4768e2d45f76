"""A proxy before the test's server, and a client that goes through it."""

from collections.abc import Iterator

import pytest
import redis
from proxy import Proxy, proxy_before
from redis.backoff import NoBackoff
from redis.retry import Retry

SOCKET_TIMEOUT_SECONDS = 0.25


@pytest.fixture
def proxy(redis_url: str) -> Iterator[Proxy]:
    """Passes everything until it is told otherwise."""
    with proxy_before(redis_url) as between:
        yield between


@pytest.fixture
def far_client(redis_client: redis.Redis, proxy: Proxy) -> Iterator[redis.Redis]:
    """A client through the proxy, which tries once: what is repeated is repeated by the engine."""
    with redis.Redis.from_url(
        proxy.url,
        socket_timeout=SOCKET_TIMEOUT_SECONDS,
        socket_connect_timeout=SOCKET_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    ) as client:
        yield client
