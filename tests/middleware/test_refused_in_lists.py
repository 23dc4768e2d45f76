"""What a plain producer puts into a list and nobody can park is a dead letter with its reason, and its sender is told.

So is a hook's message that is too long to keep: its sender is told by what is kept of it.
"""

import re
from typing import Any, cast

import dramatiq
import pytest
import redis
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results.backends import RedisBackend
from logged import context_of
from told import raised
from working import plain_redis_broker, running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.cli.failures import read_failure
from bandmaster.middleware.intake.message_options import MAX_MESSAGE_BYTES
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, wait_until

TOO_LONG = "x" * (MAX_MESSAGE_BYTES + 1)
REFUSED: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "a bad gate": (("acme",), {"gates": "disk"}, "InvalidRequest: gates: 'disk' is no list of gates"),
    "a missing argument": ((), {}, "InvalidRequest: arguments: of actor work: missing a required argument"),
    "too long": (("acme", TOO_LONG), {}, "InvalidRequest: message: it has"),
    "a name that is none": (("acme",), {"execution_id": "a b"}, "InvalidRequest: execution_id: 'a b' is not"),
}


def send_plainly(redis_url: str, *args: object, **options: Any) -> "Message[Any]":
    """As a service does whose broker was not swapped."""
    producer = RedisBroker(client=client_of(redis_url))
    sent: Message[Any] = Message("default", "work", args, {}, dict(options))
    producer.enqueue(sent)
    producer.close()
    return sent


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_in_a_list_is_a_dead_letter_and_its_sender_is_told(
    case: str,
    redis_url: str,
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    results: RedisBackend,
    redis_client: redis.Redis,
) -> None:
    called: list[str] = []

    @dramatiq.actor(actor_name="failed")
    def failed(message: dict[str, Any], error: dict[str, str]) -> None:
        called.append(message["message_id"])

    @dramatiq.actor(band="HIGH", gates=["tenant:{tenant}"], store_results=True, on_failure="failed")
    def work(tenant: str, text: str = "") -> None: ...

    args, options, reason = REFUSED[case]
    sent = send_plainly(redis_url, *args, **options)
    with running(broker):
        assert raised(sent)[0] == "ExecutionFailed"
        wait_until(lambda: called, what="the callback")
        broker.join("default", timeout=GENEROUS_MS)
    (letter,) = queue.views.dead()
    failure = read_failure(queue, letter)
    assert failure is not None
    assert (failure.exception or "").startswith(reason)
    kept = cast("Message[Any]", Message.decode(queue.views.message(letter) or b""))
    assert (kept.args, kept.message_id) == (args, sent.message_id)
    assert called == [sent.message_id]
    assert redis_client.keys("dramatiq:*.XQ*") == []


def test_a_name_that_was_refused_is_free_for_what_is_sent_in_its_place(
    redis_url: str, broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[str] = []

    @dramatiq.actor(band="HIGH", gates=["tenant:{tenant}"])
    def work(tenant: str) -> None:
        ran.append(tenant)

    send_plainly(redis_url, execution_id="order-7")
    with running(broker):
        wait_until(queue.views.dead, what="the dead letter")
        send_plainly(redis_url, "acme", execution_id="order-7")
        wait_until(lambda: ran, what="the corrected one runs")
    assert len(queue.views.dead()) == 1


def test_on_a_plain_broker_it_is_a_dead_letter_too(
    redis_url: str, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    broker = plain_redis_broker(redis_url)
    dramatiq.set_broker(broker)

    @dramatiq.actor(band="HIGH", gates=["tenant:{tenant}"])
    def work(tenant: str) -> None: ...

    send_plainly(redis_url)
    with running(broker):
        wait_until(queue.views.dead, what="the dead letter")
        broker.join("default", timeout=GENEROUS_MS)
    assert redis_client.keys("dramatiq:*.XQ*") == []
    broker.close()


class _Unspeakable:
    """Nothing that an encoder knows."""


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (TOO_LONG, r"message: it has 10\d{5} bytes; allowed: at most 1048576, the broker's max_message_bytes"),
        (_Unspeakable(), "message: it cannot be encoded: TypeError"),
    ],
    ids=["too long", "cannot be encoded"],
)
def test_a_next_step_that_cannot_be_kept_is_told_and_logged(
    value: object,
    why: str,
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    results: RedisBackend,
    caplog: pytest.LogCaptureFixture,
) -> None:
    @dramatiq.actor(band="HIGH")
    def first() -> int:
        return 1

    @dramatiq.actor(band="HIGH", store_results=True)
    def second(number: int, text: object) -> None: ...

    step = second.message_with_options(args=())
    pipe = first.message() | step

    class Growing(dramatiq.Middleware):
        def before_enqueue(self, broker: Any, message: Any, delay: Any) -> None:
            if message.actor_name == "second":
                message.kwargs["text"] = value

    broker.add_middleware(Growing(), before=type(broker.bands))
    with running(broker):
        pipe.run()
        kind, text = raised(pipe.messages[-1])
    assert kind == "ExecutionFailed"
    said = context_of(caplog, "ended_without_result")["error"]
    for told in (text, said):
        assert re.search(why, told), told
    (letter,) = queue.views.dead()
    kept = cast("Message[Any]", Message.decode(queue.views.message(letter) or b""))
    assert (kept.args, kept.kwargs, kept.options["arguments_left_out"]) == ((), {}, True)
    assert context_of(caplog, "follow_up_rejected")["code"] == "invalid"
    assert "x" * 1000 not in caplog.text
