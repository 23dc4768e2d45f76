"""Plain brokers: a worker's rounds make good what was lost, with one call for all of its lanes."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import dramatiq
import pytest
import redis
from counting import calls
from dramatiq import Actor, Message
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import CurrentMessage
from working import running, stub_broker

import bandmaster
from bandmaster import ExecutionQueueService
from bandmaster.middleware.errors import LostGrant
from bandmaster.middleware.grants.context import enter, leave, settle
from bandmaster.middleware.grants.table import entry_of
from bandmaster.middleware.intake.envelope import HINT, HintKind
from bandmaster.scheduler.engine.grants import Grant
from waiting import wait_until

LANES = 10
IDLE_CALLS = 4


def lanes_of(broker: StubBroker, body: Callable[..., None]) -> "list[Actor[..., None]]":
    """Gated actors, each with a lane of its own."""
    declare = cast("Callable[..., Actor[..., None]]", dramatiq.actor)  # its overloads know no options as a whole
    return [
        declare(body, broker=broker, actor_name=f"work-{n}", queue_name=f"lane-{n}", band="LOW") for n in range(LANES)
    ]


def test_a_hint_that_was_lost_with_its_wake_token_is_made_good(redis_url: str, queue: ExecutionQueueService) -> None:
    broker = stub_broker(redis_url)
    ran: list[int] = []
    actors = lanes_of(broker, ran.append)
    for number, actor in enumerate(actors):
        actor.send(number)
    broker.flush_all()
    client: Any = queue.scripts.client
    client.delete(*(queue.scripts.keys.wake(actor.queue_name) for actor in actors))
    with running(broker, threads=2):
        wait_until(lambda: len(ran) == LANES, what="all have run")
    assert sorted(ran) == list(range(LANES))
    broker.close()


def test_an_idle_worker_asks_once_a_second_for_all_of_its_lanes(
    redis_url: str, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    broker = stub_broker(redis_url)
    lanes_of(broker, lambda: None)
    with running(broker, threads=2):
        wait_until(lambda: calls(redis_client, "fcall") > 1, what="its first round")
        before, began = 0, 0.0
        for _ in range(2):  # the first ones may still be of its start
            before, began = calls(redis_client, "fcall"), time.monotonic()
            wait_until(lambda least=before + IDLE_CALLS: calls(redis_client, "fcall") >= least, what="some idle calls")
        asked = calls(redis_client, "fcall") - before
        seconds = time.monotonic() - began
    # One admission that grants nothing each second; the bound allows for a few times as many.
    assert asked <= 3 * seconds
    broker.close()


def test_a_body_that_sends_its_own_message_again_runs_again(redis_url: str) -> None:
    """Also where a bare hint brought it to its thread, as where a limit keeps most of them waiting."""
    broker = stub_broker(redis_url, CurrentMessage())
    runs: Counter[int] = Counter()

    @bandmaster.actor(broker=broker, band="LOW", gates=["narrow"], limits={"narrow": 1}, max_retries=0)
    def again(number: int) -> None:
        runs[number] += 1
        if runs[number] == 1:
            message = cast("Message[Any]", CurrentMessage.get_current_message())
            broker.enqueue(message)

    for number in range(LANES):
        again.send(number)
    with running(broker, threads=4):
        wait_until(lambda: sum(runs.values()) >= 2 * LANES, what="all have run twice")
    assert set(runs.values()) == {2}
    broker.close()


def test_a_hint_is_sent_whatever_became_of_the_grant(redis_url: str) -> None:
    """A renewal that meets the settlement finds the grant stale, and the broker's message has to be acknowledged."""
    broker = stub_broker(redis_url)
    (actor, *_) = lanes_of(broker, lambda: None)
    entry = entry_of(Grant("x", 1, "nonce", actor.queue_name, 30_000, None, b""), 0.0)
    entry.lost = entry.stale = True
    enter(entry)
    settle()
    try:
        with pytest.raises(LostGrant):
            actor.send()
        broker.enqueue(actor.message().copy(options={HINT: HintKind.LANE}))
    finally:
        leave()
    assert broker.queues[actor.queue_name].qsize() == 1
    broker.close()
