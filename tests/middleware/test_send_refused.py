"""Bad input at every door of `send`: a clear message, and nothing left behind in Redis."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, cast

import dramatiq
import pytest
import redis
from dramatiq import Broker, Message
from dramatiq.middleware import Middleware
from working import plain_redis_broker, stub_broker

from bandmaster import (
    BandedRedisBroker,
    DuplicateExecution,
    ExecutionQueueService,
    InvalidRequest,
    QueueFull,
    QueueRejected,
    UserLimitExceeded,
)
from bandmaster.middleware.intake.misspelt_options import meant_by
from bandmaster.scheduler.server.connection import client_of
from bandmaster.testing import BandedStubBroker


@pytest.fixture(params=["banded", "redis", "stub"])
def any_broker(request: pytest.FixtureRequest, redis_url: str, redis_client: redis.Redis) -> Iterator[Broker]:
    """Each kind of broker, on an empty database."""
    made: dict[str, Callable[[], Broker]] = {
        "banded": lambda: BandedRedisBroker(client=client_of(redis_url)),
        "redis": lambda: plain_redis_broker(redis_url),
        "stub": lambda: stub_broker(redis_url),
    }
    broker = made[str(request.param)]()
    yield broker
    broker.close()


def kept(client: redis.Redis) -> list[bytes]:
    """Every key but what scripts keep of each call: the last answer, the settings' absence, the journal's refusals."""
    keys: list[bytes] = client.keys("*")  # type: ignore[assignment]
    return sorted(key for key in keys if b":reply:" not in key and not key.endswith(b":journal"))


BAD_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown band": ({"band": "URGENT"}, "band: 'URGENT' is not a priority"),
    "a band that is a bool": ({"band": True}, "band: True is not a priority"),
    "a band out of range": ({"band": 7}, "band: 7 is not a priority"),
    "an action, which is the actor's": ({"action": "other"}, "action: is not an option of a message"),
    "a lane, which is the actor's": ({"lane": "other"}, "lane: is not an option of a message"),
    "limits, which are the actor's": (
        {"limits": {"tenant:{tenant}": 1}},
        "limits: is not an option of a message; allowed: on the actor; work has none",
    ),
    "a kept letter, which is the actor's": (
        {"keep_unrun": True},
        "keep_unrun: is not an option of a message; allowed: on the actor; work has False",
    ),
    "an age that nothing has": ({"max_age": 0}, "max_age: 0 is no age; allowed: milliseconds, above 0; None for any"),
    "everything as a gate": ({"gates": ["*"]}, "gate: .* is no gate"),
    "a lane as a gate": ({"gates": ["lane:default"]}, "a lane can only be paused"),
    "a misspelt band": ({"band": "CRITCAL"}, "band: 'CRITCAL' is not a priority; CRITICAL is meant, perhaps"),
    "a user by another name": ({"user": "ann"}, "user: no option .*; user_id is meant, perhaps"),
    "one gate": ({"gate": "a"}, "gate: no option .*; gates is meant"),
    "a misspelt age": ({"maxage": 300}, "maxage: no option .*; max_age is meant"),
    "a misspelt time": ({"schedule_at": "2030-01-01T00:00:00Z"}, "schedule_at: no option .*; scheduled_at is meant"),
    "a priority": ({"priority": "HIGH"}, "priority: no option .*; band is meant"),
    "a countdown": ({"countdown": 5}, "countdown: no option .*; delay is meant"),
    "an id with a space": ({"execution_id": "a b"}, "execution_id: 'a b' is not an execution id"),
    "an id with a newline": ({"execution_id": "a\nb"}, r"execution_id: 'a\\nb' is not an execution id"),
    "an id that is too long": ({"execution_id": "x" * 129}, "is not an execution id"),
    "an id that is no text": ({"execution_id": 5}, "execution_id: 5 is not an execution id"),
    "an empty user": ({"user_id": ""}, "user_id: '' is not a user's id"),
    "a user that is no text": ({"user_id": 7.5}, "user_id: 7.5 is not a user's id"),
    "a user that is a bool": ({"user_id": True}, "user_id: True is not a user's id"),
    "gates that are one text": ({"gates": "disk"}, "gates: 'disk' is no list of gates"),
    "a gate with a newline": ({"gates": ["a\nb"]}, r"gate: 'a\\nb' is not a gate's key"),
    "a blank gate": ({"gates": [" "]}, "gate: ' ' is not a gate's key"),
    "too many gates": ({"gates": [f"g{n}" for n in range(9)]}, "gates: 9 gates; allowed: at most 8"),
    "a gate of no argument's": (
        {"gates": ["t:{nobody}"]},
        "names 'nobody', which is no argument of actor work; allowed: number, tenant",
    ),
    "a key of no argument's": (
        {"unique": "t:{nobody}"},
        "unique: .* names 'nobody', which is no argument of actor work",
    ),
    "a gate that is no template": ({"gates": ["t:{"]}, "is no template"),
    "a gate with an expression": ({"gates": ["t:{number.real}"]}, "names 'number.real'"),
    "a gate with a bad format": ({"gates": ["t:{number:xyz}"]}, "cannot be filled"),
    "a time without a zone": ({"scheduled_at": datetime(2030, 1, 1)}, "scheduled_at: .* has no time zone"),
    "a time that is none": ({"scheduled_at": "tomorrow"}, "scheduled_at: 'tomorrow' is no time"),
    "a time that is a number": ({"scheduled_at": 5}, "scheduled_at: 5 is no time"),
    "an endless delay": ({"delay": float("inf")}, "delay: inf is no delay"),
    "no argument for a gate": ({"args": ()}, "arguments: of actor work: missing a required argument"),
    "too many arguments": ({"args": (1, "a", 3)}, "arguments: of actor work: too many"),
    "an argument unfit for a gate": ({"args": (1, {"a": 1})}, "needs argument tenant, which is a value of type dict"),
    "an empty argument of a gate": ({"args": (1, "")}, "needs argument tenant, which is ''"),
    "an argument too long for a gate": ({"args": (1, "a" * 200)}, "gate: 'tenant:aaa.* is not a gate's key"),
    "half a surrogate pair in a gate": ({"args": (1, "\ud800")}, "gate: .* is no valid text"),
    "an argument that is no JSON": ({"args": (object(), "a")}, "message: it cannot be encoded"),
    "a message of more than 1 MiB": (
        {"args": ("x" * 1024 * 1024, "a")},
        "message: it has .* bytes; allowed: at most 1048576, the broker's max_message_bytes",
    ),
}


def test_what_a_message_may_not_have_is_refused_and_nothing_is_kept(
    any_broker: Broker, redis_client: redis.Redis, subtests: pytest.Subtests
) -> None:
    @dramatiq.actor(broker=any_broker, band="HIGH", gates=["tenant:{tenant}"])
    def work(number: int, tenant: str) -> None: ...

    send = cast("Any", work).send_with_options
    for case, (options, problem) in BAD_OPTIONS.items():
        with subtests.test(case):
            with pytest.raises(InvalidRequest, match=problem) as refusal:
                send(**{"args": (1, "a")} | options)
            assert len(str(refusal.value)) < 400, "a refused value is shown cut"
            assert kept(redis_client) == []


def test_a_time_that_has_gone_is_now_as_on_any_broker(
    any_broker: Broker, redis_client: redis.Redis, subtests: pytest.Subtests
) -> None:
    @dramatiq.actor(broker=any_broker, band="HIGH")
    def work() -> None: ...

    for delay in (-5, -0.5, 0):
        with subtests.test(delay=delay):
            sent = cast("Any", work).send_with_options(delay=delay)
            meta = ExecutionQueueService(redis_client).views.meta(sent.options["execution_id"])
            assert (meta["state"], "due" in meta) == ("PENDING", False)


class Tenants(Middleware):
    """An application's own, with an option whose name is near one of ours."""

    @property
    def actor_options(self) -> set[str]:
        return {"user"}


def test_an_option_that_a_middleware_declares_or_that_is_far_from_ours_is_no_misspelling(any_broker: Broker) -> None:
    any_broker.add_middleware(Tenants())

    @dramatiq.actor(broker=any_broker, band="HIGH")
    def work() -> None: ...

    sent = work.send_with_options(user="ann", trace="x", tenant="y", max_retries=3)
    assert {"user": "ann", "trace": "x", "tenant": "y", "max_retries": 3}.items() <= sent.options.items()


NEAR = {
    "bands": "band",
    "Band": "band",
    "bnad": "band",
    "gaets": "gates",
    "userid": "user_id",
    "exection_id": "execution_id",
    "scheduled": "scheduled_at",
    "scheduledAt": "scheduled_at",
    "delays": "delay",
}


def test_a_name_near_an_option_of_ours_means_it(subtests: pytest.Subtests) -> None:
    for name, option in NEAR.items():
        with subtests.test(name=name, option=option):
            assert meant_by(name) == option


FAR = (
    "eta",
    "retries",
    "pipe_target",
    "redis_message_id",
    "date",
    "user_agent",
)


def test_other_names_are_left_alone(subtests: pytest.Subtests) -> None:
    for name in FAR:
        with subtests.test(name=name):
            assert meant_by(name) is None


BAD_ACTORS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown band": ({"band": "URGENT"}, "band: 'URGENT' is not a priority"),
    "no band at all": ({"band": None}, "band: None is not a priority"),
    "a bad action": ({"action": "a b"}, "action: 'a b' is not an action"),
    "a gate of no argument's": ({"gates": ["t:{nobody}"]}, "names 'nobody', which is no argument of actor work"),
    "a gate by position": ({"gates": ["t:{0}"]}, "names '0'"),
    "gates that are one text": ({"gates": "t:{number}"}, "is no list of gates"),
    "a gate that is no text": ({"gates": [5]}, "gate: 5 is not a gate's key"),
}


def test_an_actor_with_a_bad_option_is_not_declared(any_broker: Broker, subtests: pytest.Subtests) -> None:
    def work(number: int) -> None: ...

    declare: Any = dramatiq.actor
    for case, (options, problem) in BAD_ACTORS.items():
        with subtests.test(case):
            with pytest.raises(InvalidRequest, match=problem):
                declare(work, broker=any_broker, **options)
            assert "work" not in any_broker.actors


def test_a_message_that_names_its_execution_can_be_sent_once(any_broker: Broker, redis_client: redis.Redis) -> None:
    @dramatiq.actor(broker=any_broker, band="HIGH")
    def work() -> None: ...

    message: Message[None] = work.message_with_options(execution_id="order-7")
    any_broker.enqueue(message)
    with pytest.raises(DuplicateExecution, match="order-7"):
        any_broker.enqueue(message)
    assert ExecutionQueueService(redis_client, lane="default").get_queue_status()["queue_depth"] == 1


def test_a_full_queue_and_a_users_limit_refuse_and_keep_nothing(any_broker: Broker, redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client, lane="default")
    queue.controls.change_setting("max_executions_per_user", 1)
    queue.controls.change_setting("max_queue_size", 2)

    @dramatiq.actor(broker=any_broker, band="HIGH")
    def work() -> None: ...

    work.send_with_options(user_id="ann")
    with pytest.raises(UserLimitExceeded, match="user 'ann' has 1 executions waiting"):
        work.send_with_options(user_id="ann")
    work.send()
    with pytest.raises(QueueFull, match="max_queue_size"):
        work.send_with_options(execution_id="too-many")
    assert queue.get_queue_status()["queue_depth"] == 2
    assert queue.views.meta("too-many") == {}


def test_many_are_sent_together_each_for_itself(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    @dramatiq.actor(band="HIGH", gates=["tenant:{tenant}"])
    def work(tenant: str) -> None: ...

    @dramatiq.actor
    def ungated() -> None: ...

    results = broker.send_many(
        [
            work.message("a"),
            work.message("a" * 200),
            ungated.message(),
            work.message_with_options(args=("b",), execution_id="twice"),
            work.message_with_options(args=("b",), execution_id="twice"),
        ]
    )
    kinds = [type(result) for result in results]
    assert kinds == [Message, InvalidRequest, Message, Message, DuplicateExecution]
    assert isinstance(results[0], Message)
    assert results[0].options["execution_id"] == results[0].message_id
    assert all(isinstance(result, Message | QueueRejected) for result in results)
    assert broker.do_qsize("default") == 3, "two executions, one message in the list"


OF_ACTORS: tuple[dict[str, Any], ...] = (
    {"action": "other"},
    {"limits": {"gpu": 1}},
    {"keep_unrun": True},
)


def test_a_message_of_an_actor_that_runs_events_has_no_option_of_actors_either(
    any_broker: Broker, redis_client: redis.Redis, subtests: pytest.Subtests
) -> None:
    @dramatiq.actor(broker=any_broker, runs_events=True)
    def run(event: dict[str, Any]) -> None: ...

    for option in OF_ACTORS:
        with subtests.test(option=option):
            with pytest.raises(InvalidRequest, match="is not an option of a message; allowed: on the actor; run has"):
                cast("Any", run).send_with_options(args=({},), **option)
            assert kept(redis_client) == []


@pytest.mark.parametrize("in_memory", [False, True])
def test_what_is_no_message_is_refused_before_anything_is_sent(
    redis_url: str, redis_client: redis.Redis, *, in_memory: bool
) -> None:
    broker = BandedStubBroker() if in_memory else BandedRedisBroker(client=client_of(redis_url))

    @dramatiq.actor(broker=broker, band="HIGH")
    def work() -> None: ...

    with pytest.raises(InvalidRequest, match=r"messages: 'x' is no message; allowed: work\.message\(…\) of an actor"):
        broker.send_many([work.message(), cast("Any", "x")])
    with pytest.raises(InvalidRequest, match="messages: 5 is no list; allowed: messages"):
        asyncio.run(broker.asend_many(cast("Any", 5)))
    assert kept(redis_client) == []
    assert not in_memory or list(cast("BandedStubBroker", broker).waiting("default")) == []
    broker.close()
