"""In memory and on a server the same happens: what is refused, with which words, and in which order bodies start."""

import random
from collections.abc import Callable
from typing import Any, cast

import dramatiq
import pytest
import redis
from dramatiq import Broker

from bandmaster import BandedRedisBroker, QueueRejected
from bandmaster.scheduler.server.connection import client_of
from bandmaster.testing import BandedStubBroker, working

BAD_MESSAGES: dict[str, dict[str, Any]] = {
    "an unknown band": {"band": "URGENT"},
    "an action, which is the actor's": {"action": "other"},
    "an id with a newline": {"execution_id": "a\nb"},
    "a user that is empty": {"user_id": ""},
    "gates that are one text": {"gates": "disk"},
    "everything as a gate": {"gates": ["*"]},
    "a gate that is no template": {"gates": ["t:{"]},
    "a time without a zone": {"scheduled_at": "2030-01-01T00:00:00"},
    "no argument for a gate": {"args": ()},
    "an argument unfit for a gate": {"args": (1, {"a": 1})},
    "an argument that is no JSON": {"args": (object(), "a")},
    "a message that is too long": {"args": ("x" * 1024 * 1024, "a")},
    "an id that waits": {"execution_id": "waits"},
    "an id that is not yet due": {"execution_id": "later"},
    "a user who has as many as allowed": {"execution_id": "more", "user_id": "ann"},
}


def declared(broker: Broker) -> Any:
    """The actor of these tests, on a broker."""

    @dramatiq.actor(broker=broker, band="HIGH", gates=["tenant:{tenant}"])
    def work(number: int, tenant: str) -> None: ...

    return work


@pytest.fixture
def brokers(redis_url: str, redis_client: redis.Redis) -> tuple[BandedRedisBroker, BandedStubBroker]:
    """One on a server, one in memory, with the same bounds."""
    made = BandedRedisBroker(client=client_of(redis_url)), BandedStubBroker()
    for broker in made:
        broker.queue.controls.change_setting("max_executions_per_user", 1, lane="default")
    return made


def refusal(send: Callable[[], object]) -> tuple[type[QueueRejected], str, str | None]:
    """What a call was refused with."""
    with pytest.raises(QueueRejected) as raised:
        send()
    return raised.type, str(raised.value), raised.value.execution_id


@pytest.mark.parametrize("options", BAD_MESSAGES.values(), ids=BAD_MESSAGES)
def test_a_message_is_refused_in_the_same_words(
    brokers: tuple[BandedRedisBroker, BandedStubBroker], options: dict[str, Any]
) -> None:
    said: list[object] = []
    for broker in brokers:
        work = declared(broker)
        work.send_with_options(args=(1, "a"), execution_id="waits", user_id="ann")
        work.send_with_options(args=(1, "a"), execution_id="later", delay=3_600_000)
        before = broker.queue.on("default").get_queue_status()
        said.append(refusal(lambda work=work: work.send_with_options(**{"args": (1, "a")} | options)))
        assert broker.queue.on("default").get_queue_status() == before
    assert said[0] == said[1]


def test_a_full_queue_refuses_in_the_same_words(brokers: tuple[BandedRedisBroker, BandedStubBroker]) -> None:
    said: list[object] = []
    for broker in brokers:
        broker.queue.controls.change_setting("max_queue_size", 1, lane="default")
        work = declared(broker)
        work.send(1, "a")
        said.append(refusal(lambda work=work: work.send_with_options(args=(1, "a"), execution_id="more")))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "options", [{"band": "URGENT"}, {"gates": ["t:{nobody}"]}, {"gates": "t"}, {"action": "a b"}, {"bend": "HIGH"}]
)
def test_an_actor_is_refused_in_the_same_words(
    brokers: tuple[BandedRedisBroker, BandedStubBroker], options: dict[str, Any]
) -> None:
    def work(number: int) -> None: ...

    said: list[str] = []
    for broker in brokers:
        with pytest.raises(ValueError, match=r".") as raised:
            cast("Any", dramatiq.actor)(work, broker=broker, **options)
        said.append(f"{raised.type} {raised.value}")
        assert "work" not in broker.actors
    assert said[0] == said[1]


def test_controls_refuse_in_the_same_words(brokers: tuple[BandedRedisBroker, BandedStubBroker]) -> None:
    said = [
        [
            refusal(lambda controls=broker.queue.controls: controls.set_limit("*", 1)),
            refusal(lambda controls=broker.queue.controls: controls.set_limit("action:a b", 1)),
            refusal(lambda controls=broker.queue.controls: controls.set_limit("tenant:a", -1)),
            refusal(lambda controls=broker.queue.controls: controls.set_limit("tenant:a*", 1)),
            refusal(lambda controls=broker.queue.controls: controls.change_setting("max_queue_size", 0)),
            refusal(lambda controls=broker.queue.controls: controls.pause("tenant:*")),
            refusal(lambda controls=broker.queue.controls: controls.pause("lane:a b")),
        ]
        for broker in brokers
    ]
    assert said[0] == said[1]


def test_what_send_many_answers_is_the_same(brokers: tuple[BandedRedisBroker, BandedStubBroker]) -> None:
    answers: list[list[object]] = []
    for broker in brokers:
        work = declared(broker)
        sent = [work.message(1, "a"), work.message(1, ""), work.message_with_options(args=(1, "b"), user_id="ann")]
        again = [work.message_with_options(args=(1, "b"), execution_id=name) for name in ("one", "one")]
        answers.append([type(answer) for answer in broker.send_many([*sent, *again])])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("seed", range(5))
def test_one_thread_starts_them_in_the_same_order(
    brokers: tuple[BandedRedisBroker, BandedStubBroker], seed: int
) -> None:
    orders: list[list[int]] = []
    for broker in brokers:
        chance = random.Random(seed)
        began: list[int] = []

        @dramatiq.actor(broker=broker, band="NORMAL", gates=["tenant:{tenant}"])
        def work(place: int, tenant: str, began: list[int] = began) -> None:
            began.append(place)

        broker.queue.controls.set_limit("tenant:*", 1)
        for place in range(60):
            work.send_with_options(args=(place, str(chance.randrange(4))), band=chance.randrange(5))
        with working(broker, threads=1):
            broker.join("default")
        orders.append(began)
    assert len(orders[0]) == 60
    assert orders[0] == orders[1]
