"""Gated actors in memory: bands, first in first out within them, and limits of every kind."""

import threading

import dramatiq
import pytest
from dramatiq.errors import QueueJoinTimeout

from bandmaster import current_grant
from bandmaster.testing import BandedStubBroker, working
from waiting import GENEROUS_SECONDS, wait_until


def test_bodies_start_by_band_and_first_in_first_out_within_one(broker: BandedStubBroker) -> None:
    began: list[str] = []

    @dramatiq.actor(band="NORMAL")
    def work(name: str) -> None:
        began.append(name)

    for name, band in [("a", "LOW"), ("b", "NORMAL"), ("c", 0), ("d", "NORMAL"), ("e", "low"), ("f", "CRITICAL")]:
        work.send_with_options(args=(name,), band=band)
    assert [message.args[0] for message in broker.waiting("default")] == ["c", "f", "b", "d", "a", "e"]
    assert broker.queue.on("default").get_pending_by_priority()["CRITICAL"] == 2
    with working(broker, threads=1):
        broker.join("default")
    assert began == ["c", "f", "b", "d", "a", "e"]


def test_what_is_sent_while_bodies_run_starts_before_what_waits_if_its_band_is_better(broker: BandedStubBroker) -> None:
    began: list[str] = []

    @dramatiq.actor(band="LOW")
    def work(name: str) -> None:
        began.append(name)
        if name == "first":
            work.send_with_options(args=("urgent",), band="HIGH")

    for name in ("first", "second", "third"):
        work.send(name)
    with working(broker, threads=1):
        broker.join("default")
    assert began == ["first", "urgent", "second", "third"]


def test_the_order_holds_over_all_lanes_of_a_worker(broker: BandedStubBroker) -> None:
    began: list[str] = []

    @dramatiq.actor(band="NORMAL", queue_name="one")
    def one(name: str) -> None:
        began.append(name)

    @dramatiq.actor(band="NORMAL", queue_name="two")
    def two(name: str) -> None:
        began.append(name)

    for place in range(10):
        (one if place % 3 else two).send_with_options(args=(str(place),), band=(place * 3) % 5)
    expected = sorted(range(10), key=lambda place: ((place * 3) % 5, place))
    with working(broker, threads=1):
        broker.join("one")
        broker.join("two")
    assert began == [str(place) for place in expected]


@pytest.mark.parametrize("gate", ["tenant:a", "action:work", "user:ann"])
def test_no_more_hold_a_gate_than_its_limit(broker: BandedStubBroker, gate: str) -> None:
    running, most = 0, 0
    lock = threading.Lock()
    pair, others = threading.Barrier(2), threading.Event()

    @dramatiq.actor(gates=["tenant:{tenant}"])
    def work(tenant: str) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pair.wait(GENEROUS_SECONDS)  # two are there at once
        others.wait(0.01)  # and there is time for a third
        with lock:
            running -= 1

    assert broker.queue.controls.set_limit(gate, 2) == 0
    assert broker.queue.controls.limits() == {gate: 2}
    for _ in range(12):
        work.send_with_options(args=("a",), user_id="ann")
    with working(broker):
        broker.join("default")
    assert most == 2


def test_limits_by_kind_hold_for_each_gate_and_declared_ones_from_the_declaration_on(broker: BandedStubBroker) -> None:
    began: list[str] = []
    controls = broker.queue.controls

    @dramatiq.actor(gates=["tenant:{tenant}"], limits={"tenant:{tenant}": 0})
    def work(tenant: str) -> None:
        began.append(tenant)

    for tenant in "aabc":
        work.send(tenant)
    with working(broker):
        with pytest.raises(QueueJoinTimeout):
            broker.join("default", timeout=100)
        assert began == []
        controls.set_limit("tenant:b", 1)
        wait_until(lambda: began == ["b"])
        assert controls.set_limit("tenant:*", 1) == 0
        broker.join("default")
    assert sorted(began) == ["a", "a", "b", "c"]
    assert controls.limits() == {"tenant:*": 1, "tenant:b": 1}


def test_a_closed_gate_lets_others_pass_and_opens_when_its_limit_is_raised(broker: BandedStubBroker) -> None:
    began: list[str] = []

    @dramatiq.actor(gates=["tenant:{tenant}"])
    def work(tenant: str) -> None:
        began.append(tenant)

    broker.queue.controls.set_limit("tenant:a", 0)
    for tenant in "aab":
        work.send(tenant)
    with working(broker):
        wait_until(lambda: began)
        with pytest.raises(QueueJoinTimeout):
            broker.join("default", timeout=100)
        assert began == ["b"]
        broker.queue.controls.set_limit("tenant:a", None)
        broker.join("default")
    assert began == ["b", "a", "a"]


@pytest.mark.parametrize("name", ["*", "lane:default", "action:work"])
def test_nothing_passes_what_is_paused(broker: BandedStubBroker, name: str) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    assert broker.queue.controls.pause(name)
    work.send()
    with working(broker):
        with pytest.raises(QueueJoinTimeout):
            broker.join("default", timeout=100)
        assert broker.queue.on("default").get_queue_status() == {"queue_depth": 1, "active_count": 0}
        assert broker.queue.controls.resume(name)
        broker.join("default")


@pytest.mark.parametrize(("name", "lane"), [("max_concurrent", None), ("max_concurrent_executions", "default")])
def test_a_bound_of_all_lanes_or_of_one_holds(broker: BandedStubBroker, name: str, lane: str | None) -> None:
    both = threading.Barrier(2)
    broken: list[str] = []

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        try:
            both.wait(0.05)
        except threading.BrokenBarrierError:
            broken.append("alone")

    broker.queue.controls.change_setting(name, 1, lane=lane)
    work.send()
    work.send()
    with working(broker):
        broker.join("default")
    assert broken == ["alone", "alone"]


def test_ungated_messages_of_the_same_queue_run_beside_a_full_lane(broker: BandedStubBroker) -> None:
    began: list[str] = []

    @dramatiq.actor(band="HIGH")
    def gated() -> None:
        began.append("gated")

    @dramatiq.actor
    def ungated() -> None:
        began.append("ungated")

    broker.queue.controls.pause("action:gated")
    gated.send()
    for _ in range(50):
        ungated.send()
    with working(broker):
        wait_until(lambda: len(began) == 50)
        broker.queue.controls.resume("action:gated")
        broker.join("default")
    assert began == ["ungated"] * 50 + ["gated"]


def test_a_body_sees_its_grant(broker: BandedStubBroker) -> None:
    seen: list[tuple[str, int]] = []

    @dramatiq.actor(band="HIGH", min_backoff=1, max_retries=1)
    def work() -> None:
        grant = current_grant()
        assert grant is not None
        seen.append((grant.execution_id, grant.attempt))
        if grant.attempt == 1:
            raise ValueError

    work.send_with_options(execution_id="mine")
    with working(broker):
        broker.join("default")
    assert seen == [("mine", 1), ("mine", 2)]
    assert current_grant() is None


def test_what_a_stopping_worker_has_not_begun_waits_again_and_runs_on_the_next(broker: BandedStubBroker) -> None:
    began: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(place: int) -> None:
        began.append(place)

    for place in range(200):
        work.send(place)
    with working(broker):
        pass
    with working(broker, threads=1):
        broker.join("default")
    assert sorted(began) == list(range(200))
