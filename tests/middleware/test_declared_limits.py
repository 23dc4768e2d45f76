"""Limits that actors declare: checked when they are declared, and in force before a worker starts anything."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, cast

import dramatiq
import pytest
from dramatiq import Broker
from middleware.working import plain_redis_broker, running, stub_broker
from proxy import calls, proxy_before

from bandmaster import BandedRedisBroker, ExecutionQueueService, InvalidRequest
from bandmaster.scheduler.engine.journal import Verb
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.limits import Holding
from bandmaster.scheduler.server.connection import client_of
from bandmaster.scheduler.transport.scripts import REPEAT_PAUSES_SECONDS
from bandmaster.testing import BandedStubBroker
from waiting import wait_until

MORE_THAN_A_CALL_TRIES = len(REPEAT_PAUSES_SECONDS) + 2


@pytest.fixture(params=["banded", "redis", "stub"])
def any_broker(request: pytest.FixtureRequest, redis_url: str, queue: ExecutionQueueService) -> Iterator[Broker]:
    """Each kind of broker, on an empty database."""
    made: dict[str, Callable[[], Broker]] = {
        "banded": lambda: BandedRedisBroker(client=client_of(redis_url)),
        "redis": lambda: plain_redis_broker(redis_url),
        "stub": lambda: stub_broker(redis_url),
    }
    broker = made[str(request.param)]()
    broker.emit_after("process_boot")
    yield broker
    broker.close()


def nothing(tenant: str) -> None:
    """The body of actors that are only declared."""


class Tenants:
    """Counts the bodies that run of each tenant, and the most there were at once."""

    def __init__(self) -> None:
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.ended = 0
        self._lock = threading.Lock()

    def body(self, tenant: str) -> None:
        """Long enough for others to begin beside it."""
        with self._lock:
            self.running[tenant] += 1
            self.most[tenant] = max(self.most[tenant], self.running[tenant])
        threading.Event().wait(0.02)
        with self._lock:
            self.running[tenant] -= 1
            self.ended += 1


def test_a_declared_limit_holds_for_each_tenant_from_the_first_message_on(
    any_broker: Broker, queue: ExecutionQueueService
) -> None:
    tenants = Tenants()

    @dramatiq.actor(broker=any_broker, gates=["tenant:{tenant}"], limits={"tenant:{tenant}": 2})
    def work(tenant: str) -> None:
        tenants.body(tenant)

    for number in range(24):
        work.send("abc"[number % 3])
    assert queue.controls.all_limits().names() == set(), "who only sends declares nothing"
    with running(any_broker, threads=8):
        wait_until(lambda: tenants.ended == 24, what="all of them")
    assert set(tenants.most) == set("abc")
    assert max(tenants.most.values()) == 2
    assert queue.controls.all_limits().declared == {"default": {"tenant:*": 2}}
    assert queue.controls.limits() == {}


def test_a_declared_rate_holds_beside_the_limit(any_broker: Broker, queue: ExecutionQueueService) -> None:
    tenants = Tenants()

    @dramatiq.actor(broker=any_broker, gates=["tenant:{tenant}"], limits={"tenant:{tenant}": "2; 1/h burst 3"})
    def work(tenant: str) -> None:
        tenants.body(tenant)

    for _ in range(8):
        work.send("a")
    work.send("b")
    with running(any_broker, threads=8):
        wait_until(lambda: tenants.ended == 4, what="a burst of one, and the only one of the other")
    assert tenants.most["a"] <= 2
    assert queue.controls.all_limits().declared == {"default": {"tenant:*": 2}}
    assert {name: str(each.rate) for name, each in queue.controls.rates.all().items()} == {"tenant:*": "1/h burst 3"}
    admitted = [entry.execution_id for entry in queue.journal.entries() if entry.verb == Verb.ADMIT]
    assert len(admitted) == 4


def test_a_declared_limit_may_adjust_itself(any_broker: Broker, queue: ExecutionQueueService) -> None:
    tenants = Tenants()

    @dramatiq.actor(broker=any_broker, gates=["crm"], limits={"crm": "auto(2,9); 1000/s burst 100"})
    def work(tenant: str) -> None:
        tenants.body(tenant)

    for _ in range(9):
        work.send("a")
    with running(any_broker, threads=8):
        wait_until(lambda: tenants.ended == 9, what="all of them")
    assert tenants.most["a"] == 2, "nine ends are too few to raise it"
    expected = Holding("crm", 2, is_declared=True, auto=Auto(2, 9))
    assert queue.controls.all_limits().named("crm") == expected
    assert [str(each.rate) for each in queue.controls.rates.all().values()] == ["1000/s burst 100"]


def test_the_next_boot_replaces_what_the_last_declared(any_broker: Broker, queue: ExecutionQueueService) -> None:
    def declared(**limits: int) -> None:
        cast("Any", dramatiq.actor)(
            nothing,
            broker=any_broker,
            actor_name="work",
            gates=["tenant:{tenant}", "gpu"],
            limits={name.replace("tenant", "tenant:{tenant}"): limit for name, limit in limits.items()},
        )
        any_broker.actors.clear()  # as in the next release's process

    wanted: list[tuple[dict[str, int], dict[str, dict[str, int]]]] = [
        ({"tenant": 2, "gpu": 1}, {"default": {"tenant:*": 2, "gpu": 1}}),
        ({"tenant": 3}, {"default": {"tenant:*": 3}}),
        ({}, {}),
    ]
    for limits, kept in wanted:
        declared(**limits)
        with running(any_broker):
            wait_until(lambda kept=kept: queue.controls.all_limits().declared == kept, what="what is declared now")


def test_an_operators_limit_goes_before_a_declared_one_and_survives_boots(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    tenants = Tenants()

    @dramatiq.actor(gates=["tenant:{tenant}"], limits={"tenant:{tenant}": 4})
    def work(tenant: str) -> None:
        tenants.body(tenant)

    queue.controls.set_limit("tenant:*", 1)
    for _ in range(2):
        before = tenants.ended
        for _ in range(6):
            work.send("a")
        with running(broker):
            wait_until(lambda before=before: tenants.ended == before + 6, what="all of them")
    assert tenants.most["a"] == 1


def test_nothing_is_admitted_before_the_limits_are_told(redis_url: str) -> None:
    """Redis answers again in the moment after a declaration failed: the limits come first all the same."""
    tenants, unheard = Tenants(), iter(range(MORE_THAN_A_CALL_TRIES))
    with proxy_before(redis_url) as proxy:
        broker = BandedRedisBroker(client=client_of(proxy.url))

        @dramatiq.actor(broker=broker, gates=["tenant:{tenant}"], limits={"tenant:{tenant}": 1})
        def work(tenant: str) -> None:
            tenants.body(tenant)

        for _ in range(6):
            work.send("a")
        proxy.lose_command(lambda command: calls(command, "declare_") and next(unheard, None) is not None)
        with running(broker):
            wait_until(lambda: tenants.ended == 6, what="all of them")
        broker.close()
    assert tenants.most["a"] == 1
    assert proxy.lost == MORE_THAN_A_CALL_TRIES


BAD_LIMITS: dict[str, tuple[dict[str, Any], str]] = {
    "no dict": ({"limits": 2}, "limits: 2 is no dict; allowed: a dict like"),
    "a gate that the actor does not pass": (
        {"limits": {"team:{tenant}": 2}},
        r"limits: 'team:\{tenant\}' is no gate of this actor; allowed: action:\*, action:work, gpu, tenant:\*",
    ),
    "no whole number": ({"limits": {"gpu": 2.5}}, r"limits of gpu: 2\.5 is not a limit"),
    "neither a limit nor a rate": (
        {"limits": {"gpu": "2; often"}},
        "limits of gpu: 'often' is neither a limit nor a rate; allowed: .*like 2, .*like 100/m, .*like '2; 100/m'",
    ),
    "a negative number in a text": (
        {"limits": {"tenant:{tenant}": "-2; 5/s"}},
        r"limits of tenant:\{tenant\}: '-2' is neither a limit nor a rate; allowed: ",
    ),
    "a rate of no unit": (
        {"limits": {"gpu": "2; 5/w"}},
        "limits of gpu: '5/w' is not a rate; allowed: N/TIME like 100/m",
    ),
    "two rates": ({"limits": {"gpu": "1/s; 2/s"}}, "limits: 1/s and 2/s for gpu; allowed: one limit for each kind"),
    "a kind that would adjust itself": (
        {"limits": {"tenant:{tenant}": "auto(2,9)"}},
        r"auto: auto\(2,9\) for tenant:\*, which is a kind; allowed: a number; or auto for single gates",
    ),
    "bounds that are none": ({"limits": {"gpu": "auto(9,2)"}}, r"limits of gpu: auto\(9,2\) has no such bounds"),
    "a negative number": ({"limits": {"gpu": -1}}, "limits of gpu: -1 is not a limit"),
    "a part of a kind": (
        {"gates": ["tenant:eu:{tenant}"], "limits": {"tenant:eu:{tenant}": 1}},
        "is not a whole kind of gates",
    ),
    "a template with a tail": (
        {"gates": ["tenant:{tenant}:export"], "limits": {"tenant:{tenant}:export": 1}},
        "is not a whole kind of gates; allowed: .* tenant-export:{tenant}",
    ),
    "a template without a kind": ({"gates": ["{tenant}"], "limits": {"{tenant}": 1}}, "is not a whole kind of gates"),
    "two limits of one kind": (
        {"gates": ["t:{tenant}"], "limits": {"t:{tenant}": 1, "t:*": 2}},
        r"limits: 1 and 2 for t:\*",
    ),
    "a kind as a gate": ({"gates": ["tenant:*"]}, "gate: 'tenant:\\*' is not a gate's key"),
}


@pytest.fixture(params=["banded", "memory"])
def declaring(request: pytest.FixtureRequest, redis_url: str) -> Iterator[Broker]:
    """A broker on a server, and one in memory."""
    broker = BandedRedisBroker(client=client_of(redis_url)) if request.param == "banded" else BandedStubBroker()
    yield broker
    broker.close()


def test_what_may_not_be_declared_is_refused_with_the_actor(declaring: Broker, subtests: pytest.Subtests) -> None:
    def work(tenant: str) -> None: ...

    declare: Any = dramatiq.actor
    for case, (options, problem) in BAD_LIMITS.items():
        with subtests.test(case):
            with pytest.raises(InvalidRequest, match=problem):
                declare(work, broker=declaring, **{"gates": ["tenant:{tenant}", "gpu"]} | options)
            assert "work" not in declaring.actors


UNFIT: tuple[dict[str, Any], ...] = (
    {"limits": {"user:*": 1}},
    {"keep_unrun": True},
    {"keep_unrun": "x"},
)


def test_options_of_an_actor_without_a_gate_are_refused_and_not_ignored(
    declaring: Broker, subtests: pytest.Subtests
) -> None:
    def work() -> None: ...

    declare: Any = dramatiq.actor
    for option in UNFIT:
        with subtests.test(option=option):
            with pytest.raises(
                InvalidRequest, match=": actor work is not gated; allowed: on actors declared with band="
            ):
                declare(work, broker=declaring, **option)
            assert "work" not in declaring.actors


def test_an_option_of_another_middleware_is_none_of_ours(declaring: Broker) -> None:
    class Throttle(dramatiq.Middleware):
        @property
        def actor_options(self) -> set[str]:
            return {"limits"}

    declaring.add_middleware(Throttle())
    cast("Any", dramatiq.actor)(lambda: None, broker=declaring, actor_name="work", limits="three a minute")
    assert declaring.get_actor("work").options["limits"] == "three a minute"


def test_two_actors_that_do_not_agree_are_refused(declaring: Broker) -> None:
    def declare(name: str, limit: int) -> None:
        cast("Any", dramatiq.actor)(
            nothing,
            broker=declaring,
            actor_name=name,
            gates=["tenant:{tenant}"],
            limits={"tenant:{tenant}": limit},
        )

    declare("one", 2)
    declare("two", 2)
    with pytest.raises(InvalidRequest, match=r"limits: 3 for tenant:\* by actor three, but 2 by actor one"):
        declare("three", 3)
