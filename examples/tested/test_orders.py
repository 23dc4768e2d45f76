"""Tests with a broker in memory: without a server, but with the same order, limits and refusals as with one.

    cd tested && pytest

`bandmaster_broker` is the application's own broker, which becomes a `BandedStubBroker` for one test: a `StubBroker` of
Dramatiq with bands and gates. No name is patched. `join` waits until a queue is empty, and raises the exception of a
failed body.
"""

import orders
import pytest
from dramatiq import Worker

from bandmaster import InvalidRequest
from bandmaster.testing import BandedStubBroker, working


def test_a_confirmed_order_is_told(bandmaster_broker: BandedStubBroker, bandmaster_worker: Worker) -> None:
    orders.confirm.send("north", 1)
    bandmaster_broker.join("orders")
    bandmaster_broker.join("letters")
    assert orders.letters.get_nowait() == "north 1 is confirmed"


def test_what_is_no_order_fails(bandmaster_broker: BandedStubBroker, bandmaster_worker: Worker) -> None:
    orders.confirm.send("north", 0)
    with pytest.raises(ValueError, match="0 is no order"):
        bandmaster_broker.join("orders")


def test_the_urgent_one_is_confirmed_first(bandmaster_broker: BandedStubBroker) -> None:
    orders.confirm.send("north", 1)
    orders.confirm.send_with_options(args=("north", 2), band="CRITICAL")
    # One thread, started when both wait, so that the order of their starts is visible.
    with working(bandmaster_broker, threads=1):
        assert [orders.letters.get(timeout=30) for _ in range(2)] == ["north 2 is confirmed", "north 1 is confirmed"]


def test_a_shop_that_is_closed_holds_up_no_other(bandmaster_broker: BandedStubBroker) -> None:
    bandmaster_broker.queue.controls.set_limit("shop:north", 0)
    orders.confirm.send("north", 1)
    orders.confirm.send("south", 1)
    with working(bandmaster_broker):
        assert orders.letters.get(timeout=30) == "south 1 is confirmed"
        assert [message.args for message in bandmaster_broker.waiting("orders")] == [("north", 1)]
        bandmaster_broker.queue.controls.set_limit("shop:north", 2)
        assert orders.letters.get(timeout=30) == "north 1 is confirmed"


def test_an_order_needs_a_shop(bandmaster_broker: BandedStubBroker) -> None:
    with pytest.raises(InvalidRequest, match="shop"):
        orders.confirm.send("", 1)
    assert bandmaster_broker.waiting("orders") == []
