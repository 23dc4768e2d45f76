"""In memory, rates, fair lanes and weights are checked and told as on a server, and hold nothing back; nothing ages."""

from collections.abc import Callable
from inspect import isfunction, signature
from typing import Any

import dramatiq
import pytest
import redis

from bandmaster import BandedRedisBroker, InvalidRequest, get_queue_stats, slot
from bandmaster.scheduler.engine.rate_controls import RateControls
from bandmaster.scheduler.engine.shares import Shares
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.server.connection import client_of
from bandmaster.testing import BandedStubBroker, working
from bandmaster.testing.unheld import MemoryRates, MemoryShares
from waiting import GENEROUS_MS

SLOW = Rate.read("1/h")


def test_nothing_waits_for_a_rate_that_is_set_or_declared() -> None:
    broker, done = BandedStubBroker(), list[int]()

    @dramatiq.actor(broker=broker, gates=["tenant:{tenant}"], limits={"tenant:{tenant}": "2; 1/h"}, max_retries=0)
    def work(number: int, tenant: str) -> None:
        done.append(number)

    broker.queue.controls.rates.set("action:*", SLOW)
    for number in range(5):
        work.send(number, "a")
    with working(broker, threads=1):
        broker.join("default", timeout=GENEROUS_MS)
    assert done == list(range(5))
    declared = broker.queue.controls.rates.of("tenant:a")
    assert declared is not None
    assert (declared.rate, declared.is_declared) == (SLOW, True)


def test_a_fair_lane_is_first_in_first_out() -> None:
    broker, done = BandedStubBroker(), list[str]()

    @dramatiq.actor(broker=broker, action="mail", max_retries=0)
    def work(user: str) -> None:
        done.append(user)

    broker.queue.shares.share("default", "user")
    broker.queue.shares.weigh("user:bob", 100)
    for user in ("ann", "ann", "ann", "bob"):
        work.send_with_options(args=(user,), user_id=user)
    with working(broker, threads=1):
        broker.join("default", timeout=GENEROUS_MS)
    assert done == ["ann", "ann", "ann", "bob"]


def played(queue: Any) -> list[object]:
    """What is told, and how it is refused."""

    def refused(call: Callable[[], object]) -> str:
        with pytest.raises(InvalidRequest) as raised:
            call()
        return str(raised.value)

    rates, shares = queue.controls.rates, queue.shares
    rates.declare({"mails": {"tenant:*": Rate.read("5/s"), "user:*": SLOW}, "letters": {"tenant:*": Rate.read("3/s")}})
    rates.set("user:ann", "100/m burst 5")
    told = [rates.all(), rates.of("tenant:x"), rates.of("user:bob"), rates.of("gpu")]
    rates.declare({"letters": {}})
    rates.set("user:ann", None)
    told += [refused(lambda: rates.set("user:ann", "fast")), refused(lambda: rates.set("user:ann", 5))]
    told += [rates.all(), shares.share("mails", "user"), shares.share("mails", "tenant"), shares.kind_of("mails")]
    told += [shares.fair(), shares.share("mails", None), shares.fair(), shares.kind_of("mails")]
    told += [shares.weigh("user:ann", 10), shares.weigh("user:ann", 3), shares.weights(), shares.weight_of("user:ann")]
    told += [
        shares.weigh("user:ann", None),
        shares.weigh("user:ann", None),
        shares.weights(),
        shares.weight_of("user:ann"),
    ]
    told += [
        refused(lambda: rates.set("*", SLOW)),
        refused(lambda: rates.set("gpu", Rate(0, 1))),
        refused(lambda: rates.declare({"a lane": {}})),
        refused(lambda: rates.declare({"mails": {"lane:x": SLOW}})),
        refused(lambda: shares.share("a lane", "user")),
        refused(lambda: shares.share("mails", "a:b")),
        refused(lambda: shares.weigh("user:*", 2)),
        refused(lambda: shares.weigh("user:ann", 1_001)),
    ]
    return told


def test_they_are_told_and_refused_as_on_a_server(redis_url: str, redis_client: redis.Redis) -> None:
    assert played(BandedStubBroker().queue) == played(BandedRedisBroker(client=client_of(redis_url)).queue)


def test_ageing_is_refused_in_words() -> None:
    with pytest.raises(InvalidRequest, match="'ageing_seconds' means nothing in memory; allowed: max_concurrent_exec"):
        BandedStubBroker().queue.controls.change_setting("ageing_seconds", 60, lane="default")


def test_slots_of_a_queue_in_memory_are_refused_in_words() -> None:
    queue: Any = BandedStubBroker().queue
    for ask in (lambda: slot("core.http.get", limit=2, queue=queue), lambda: get_queue_stats("a", queue=queue)):
        with pytest.raises(InvalidRequest, match="a MemoryQueue has no slots, which need a server"):
            ask()


def test_both_have_the_interfaces_of_those_on_a_server() -> None:
    for in_memory, on_server in ((MemoryRates, RateControls), (MemoryShares, Shares)):
        methods = {name: each for name, each in vars(on_server).items() if isfunction(each) and name[0] != "_"}
        assert methods
        for name, method in methods.items():
            assert signature(getattr(in_memory, name)) == signature(method), name


def test_an_application_leaves_what_was_chosen_in_memory_too() -> None:
    shares = BandedStubBroker().queue.shares
    assert shares.share("mails", "user", only_if_unset=True) is None
    assert shares.share("mails", None) == "user"
    assert shares.share("mails", "user", only_if_unset=True) is None
    assert (shares.kind_of("mails"), shares.fair()) == (None, {}), "strict order is a choice, too"
