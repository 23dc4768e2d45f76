"""What applications call their tenants, users, actors and ids: taken as it is, or encoded, and never mixed up."""

from typing import Any

import dramatiq
import pytest
from dramatiq import Message
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, wait_until

TENANTS = ("Acme Corp", "Acme", "Corp", "a\tb", "a%09b", "50% off", "{x}", "*", "Müller & Söhne", "a\u2028b")


def test_any_text_may_be_a_gates_value_and_each_is_a_gate_of_its_own(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[str] = []

    @dramatiq.actor(gates=["tenant:{tenant}", "region:{tenant}"])
    def work(tenant: str) -> None:
        ran.append(tenant)

    gates: set[str] = set()
    for tenant in TENANTS:
        sent = work.send(tenant)
        own = queue.views.meta(sent.message_id)["gates"].split("\n")
        assert len(own) == 2
        gates.update(own)
    assert len(gates) == 2 * len(TENANTS)
    assert {"tenant:Acme Corp", "tenant:a%09b", "tenant:a%2509b", "tenant:50% off"} <= gates
    queue.controls.set_limit("tenant:Acme Corp", 0)
    with running(broker):
        wait_until(lambda: len(ran) == len(TENANTS) - 1, what="all but one have run")
    assert set(ran) == set(TENANTS) - {"Acme Corp"}
    queue.controls.set_limit("tenant:Acme Corp", 1)
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert set(ran) == set(TENANTS)


@pytest.mark.parametrize("name", ["shop:send", "shop.tasks:Send", "send a mail", "größe", "x" * 300, "~"])
def test_an_actor_of_any_name_can_be_gated(name: str, broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    ran: list[str] = []

    @dramatiq.actor(actor_name=name, band="HIGH")
    def work() -> None:
        ran.append(name)

    message = work.send()
    action = queue.views.meta(message.message_id)["action"]
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert ran == [name]
    queue.controls.set_limit(f"action:{action}", 1)
    assert action == "shop:send" or name != "shop:send"


@pytest.mark.parametrize("message_id", ["order:7", "order 7", "o" * 200, "größe"])
def test_a_message_of_any_id_runs_and_keeps_it(
    message_id: str, broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    seen: list[str] = []
    broker.add_middleware(dramatiq.middleware.CurrentMessage())

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        message = dramatiq.middleware.CurrentMessage.get_current_message()
        assert message is not None
        seen.append(message.message_id)

    sent = broker.enqueue(Message("default", "work", (), {}, {}, message_id=message_id))
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert seen == [message_id]
    assert queue.views.meta(sent.options["execution_id"])["state"] == State.COMPLETED


def test_an_execution_may_be_named_with_a_colon_and_a_user_by_a_number(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    work.send_with_options(execution_id="shop:order:7", user_id=42)
    assert queue.views.meta("shop:order:7")["user"] == "42"
    queue.controls.set_limit("user:42", 1)
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert queue.views.meta("shop:order:7")["state"] == State.COMPLETED


def test_messages_over_one_mebibyte_are_taken_where_the_broker_says_so(
    redis_url: str, queue: ExecutionQueueService
) -> None:
    broker = BandedRedisBroker(client=client_of(redis_url), max_message_bytes=8 * 1024 * 1024)
    ran: list[int] = []

    @dramatiq.actor(broker=broker, band="HIGH")
    def work(text: str) -> None:
        ran.append(len(text))

    length = 3 * 1024 * 1024
    results: list[Any] = broker.send_many([work.message("x" * length) for _ in range(5)])
    assert all(isinstance(each, Message) for each in results)
    with running(broker):
        broker.join("default", timeout=60_000)
    assert ran == [length] * 5
    broker.close()
