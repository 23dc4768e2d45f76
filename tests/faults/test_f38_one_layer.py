"""F38: a call is tried again in one layer, and never beyond its deadline, in which every piece of a reply counts."""

import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest
import redis
from defects.contrast import event
from proxy import Loss, Proxy
from redis.backoff import NoBackoff
from redis.retry import Retry

from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.scripts import REPEAT_PAUSES_SECONDS
from waiting import GENEROUS_SECONDS

pytestmark = pytest.mark.slow

TRIES: Final = len(REPEAT_PAUSES_SECONDS) + 1
DEADLINE_SECONDS: Final = 1.0
NEVER_SECONDS: Final = 600.0
"""Of the client: longer than any test waits."""

CALLS: Final[dict[str, Callable[[ExecutionQueueService], object]]] = {
    "a script": lambda queue: queue.enqueue(event("x")),
    "a page": lambda queue: queue.enqueue_many([event("x"), event("y")]),
    "a command": lambda queue: queue.views.meta("x"),
    "many commands": lambda queue: queue.views.metas(["x", "y"]),
}


@pytest.fixture
def stubborn_client(redis_client: redis.Redis, proxy: Proxy) -> Iterator[redis.Redis]:
    """A client through the proxy that tries everything again by itself."""
    with redis.Redis.from_url(
        proxy.url, client_name="stubborn", retry=Retry(NoBackoff(), 5), socket_timeout=NEVER_SECONDS
    ) as client:
        yield client


@pytest.mark.parametrize("name", CALLS)
def test_f38_refused_connections_are_tried_again_in_one_layer(
    name: str, stubborn_client: redis.Redis, proxy: Proxy
) -> None:
    queue = ExecutionQueueService(stubborn_client)
    proxy.refuses = True
    with pytest.raises(QueueUnavailable, match="did not answer"):
        CALLS[name](queue)
    # A page is sent ahead on a connection that was tried before.
    assert proxy.refused == TRIES + (name == "a page")


@pytest.mark.parametrize("name", CALLS)
def test_f38_lost_replies_are_tried_again_in_one_layer(name: str, stubborn_client: redis.Redis, proxy: Proxy) -> None:
    queue = ExecutionQueueService(stubborn_client)
    CALLS[name](queue)
    proxy.lose_reply(lambda command: command[0] in (b"FCALL", b"HGETALL"), Loss.CLOSED)
    with pytest.raises(QueueUnavailable, match="did not answer"):
        CALLS[name](queue)
    assert proxy.lost == TRIES + (name == "a page")


def waits(call: Callable[[], object]) -> float:
    """Seconds until a call says that the server does not answer."""
    began = time.monotonic()
    with pytest.raises(QueueUnavailable, match="did not answer"):
        call()
    return time.monotonic() - began


@pytest.mark.parametrize("name", CALLS)
def test_f38_a_login_whose_steps_are_slow_ends_with_the_deadline(
    name: str, stubborn_client: redis.Redis, proxy: Proxy
) -> None:
    """Each answer comes in time; all together, they come too late."""
    proxy.delay_seconds = DEADLINE_SECONDS * 0.4
    queue = ExecutionQueueService(stubborn_client, deadline_seconds=DEADLINE_SECONDS)
    assert waits(lambda: CALLS[name](queue)) < GENEROUS_SECONDS


@pytest.mark.parametrize("name", CALLS)
def test_f38_a_reply_that_comes_in_drops_ends_with_the_deadline(
    name: str, redis_client: redis.Redis, stubborn_client: redis.Redis, proxy: Proxy
) -> None:
    ExecutionQueueService(redis_client).enqueue(event("x"))
    queue = ExecutionQueueService(stubborn_client, deadline_seconds=DEADLINE_SECONDS)
    queue.get_queue_status()
    queue.views.leader()
    proxy.trickle_seconds = DEADLINE_SECONDS * 0.2
    assert waits(lambda: CALLS[name](queue)) < GENEROUS_SECONDS


def test_f38_a_black_hole_costs_one_deadline(stubborn_client: redis.Redis, proxy: Proxy) -> None:
    queue = ExecutionQueueService(stubborn_client, deadline_seconds=DEADLINE_SECONDS)
    queue.enqueue(event("before"))
    proxy.swallows = True
    for name, call in CALLS.items():
        assert waits(lambda call=call: call(queue)) < GENEROUS_SECONDS, name
    proxy.swallows = False
    proxy.break_connections()
    assert queue.enqueue(event("x")) == 1


def test_f38_a_connection_that_died_unnoticed_is_replaced_within_the_deadline(
    stubborn_client: redis.Redis, proxy: Proxy
) -> None:
    """As behind a router that forgot it: what is sent on it vanishes, and a new one is as good as any."""
    queue = ExecutionQueueService(stubborn_client, deadline_seconds=4 * DEADLINE_SECONDS)
    queue.enqueue(event("before"))
    queue.views.meta("before")
    proxy.forget_connections()
    assert queue.enqueue(event("x")) == 1
    proxy.forget_connections()
    assert queue.views.meta("x")["state"] == "PENDING"
    proxy.forget_connections()
    queue.enqueue_many([event("y")])
