"""Sending from asyncio: the same as `send`, and the event loop goes on whatever the server does."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import dramatiq
import pytest
import redis
from dramatiq import Broker, Message
from dramatiq.middleware import AsyncIO
from proxy import proxy_before
from working import plain_redis_broker, running

from bandmaster import (
    Actor,
    BandedRedisBroker,
    DuplicateExecution,
    ExecutionQueueService,
    InvalidRequest,
    QueueUnavailable,
    actor,
    current_grant,
)
from bandmaster.scheduler.server.connection import client_of
from bandmaster.testing import BandedStubBroker
from waiting import wait_until

T = TypeVar("T")
TICK_SECONDS: Final = 0.01
SENDS: Final = 8
DECLARE: Final[dict[str, Callable[..., Any]]] = {"bandmaster.actor": actor, "dramatiq.actor": dramatiq.actor}


@pytest.mark.parametrize("declare", DECLARE.values(), ids=DECLARE)
@pytest.mark.parametrize("options", [{"band": "HIGH"}, {}], ids=["gated", "ungated"])
def test_an_actor_is_sent_from_asyncio(
    broker: BandedRedisBroker, declare: Callable[..., Any], options: dict[str, Any]
) -> None:
    ran: list[int] = []

    @declare(broker=broker, **options)
    def work(number: int) -> None:
        ran.append(number)

    async def caller() -> "Message[Any]":
        await work.asend(1)
        return await work.asend_with_options(args=(2,), max_retries=0)

    assert isinstance(work, Actor)
    assert asyncio.run(caller()).options["max_retries"] == 0
    with running(broker, threads=1):
        wait_until(lambda: len(ran) == 2, what="both run")
    assert ran == [1, 2]


def test_refusals_reach_who_awaits(broker: BandedRedisBroker) -> None:
    @actor(broker=broker, band="HIGH")
    def work() -> None: ...

    async def caller() -> None:
        await work.asend_with_options(execution_id="once")
        with pytest.raises(DuplicateExecution):
            await work.asend_with_options(execution_id="once")
        with pytest.raises(InvalidRequest):
            await work.asend_with_options(user_id="")

    asyncio.run(caller())


def test_many_are_sent_from_asyncio_each_for_itself(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    @actor(broker=broker, band="HIGH", gates=["tenant:{tenant}"])
    def work(tenant: object) -> None: ...

    tenants: list[object] = ["a", {}, *range(1_000)]
    results = asyncio.run(broker.asend_many(work.message(tenant) for tenant in tenants))
    assert [type(result) for result in results] == [Message, InvalidRequest, *[Message] * 1_000]
    assert queue.get_queue_status()["queue_depth"] == 1_001


async def beside(awaited: Awaitable[T]) -> tuple[T, int]:
    """What comes of it, and how often the loop had its turn meanwhile."""
    turns, task = 0, asyncio.ensure_future(awaited)
    while not task.done():
        await asyncio.sleep(TICK_SECONDS)
        turns += 1
    return await task, turns


def test_the_loop_goes_on_while_the_server_hangs(redis_url: str, redis_client: redis.Redis) -> None:
    deadline_seconds = 3.0
    with proxy_before(redis_url) as proxy:
        broker = BandedRedisBroker(client=client_of(proxy.url), deadline_seconds=deadline_seconds)

        @actor(broker=broker, band="HIGH")
        def work() -> None: ...

        async def caller() -> int:
            proxy.swallows = True
            awaited = asyncio.gather(*(work.asend() for _ in range(SENDS)), return_exceptions=True)
            began = time.monotonic()
            results, turns = await beside(awaited)
            assert {type(result) for result in results} == {QueueUnavailable}
            assert time.monotonic() - began > deadline_seconds / 2
            return turns

        # A send that held up the loop would let it have a turn before and after.
        assert asyncio.run(caller()) > 2 * SENDS
        proxy.swallows = False
        broker.close()


def test_what_is_awaited_one_after_the_other_keeps_its_order(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    @actor(broker=broker, band="HIGH")
    def work(number: int) -> None: ...

    async def caller() -> list[str]:
        return [(await work.asend(number)).message_id for number in range(50)]

    assert asyncio.run(caller()) == queue.views.pending()


def test_a_body_on_the_event_loop_sends_under_its_grant(broker: BandedRedisBroker) -> None:
    """Its own message sent again is its retry, and no duplicate."""
    broker.add_middleware(AsyncIO())
    attempts: list[int] = []

    @actor(broker=broker, band="HIGH")
    async def work(number: int) -> None:
        grant = current_grant()
        assert grant is not None
        attempts.append(grant.attempt)
        if number > 1:
            await work.asend_with_options(args=(number - 1,), execution_id=grant.execution_id)

    broker.emit_after("process_boot")
    work.send(2)
    with running(broker, threads=1):
        wait_until(lambda: attempts == [1, 2], what="the second attempt")


PROGRAM = """
import asyncio, os, sys
import dramatiq
from bandmaster import BandedRedisBroker, actor
from bandmaster.scheduler.server.connection import client_of

broker = BandedRedisBroker(client=client_of(sys.argv[1]))

@actor(broker=broker, band="HIGH")
def work(number: int) -> None: ...

asyncio.run(work.asend(1))
child = os.fork()
if not child:
    asyncio.run(work.asend(2))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
asyncio.run(work.asend(3))
"""


def test_a_forked_process_sends_too(redis_url: str, queue: ExecutionQueueService) -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM, redis_url], check=True, timeout=60)
    assert queue.get_queue_status()["queue_depth"] == 3


@pytest.mark.parametrize("kind", ["plain", "in memory"])
def test_other_brokers_are_awaited_likewise(kind: str, redis_url: str, redis_client: redis.Redis) -> None:
    made: Broker = plain_redis_broker(redis_url) if kind == "plain" else BandedStubBroker()

    @actor(broker=made, band="HIGH")
    def work(number: int) -> None: ...

    message = asyncio.run(work.asend(1))
    assert message.options["execution_id"] == message.message_id
    if isinstance(made, BandedStubBroker):
        assert len(asyncio.run(made.asend_many([work.message(2), work.message(3)]))) == 2
    made.close()
