"""A dead letter that was refused before it was read is checked as if it were new, by a worker that knows its actor."""

from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
from cli.driving import Driver
from dramatiq.brokers.redis import RedisBroker
from dramatiq.brokers.stub import StubBroker
from middleware.working import running

from bandmaster import BandedRedisBroker
from bandmaster.middleware.intake.burial import LEFT_OUT
from bandmaster.scheduler.engine.parking import Candidate
from waiting import wait_until

pytestmark = pytest.mark.slow

QUEUE = "orders"


@pytest.fixture
def broker(driver: Driver) -> Iterator[BandedRedisBroker]:
    """An application's, on the server of `bandmaster up`."""
    with driver.connect() as client:
        broker = BandedRedisBroker(client=client)
        dramatiq.set_broker(broker)
        yield broker
        for letter in broker.queue.views.dead():
            broker.queue.drop(letter)
        broker.close()
        dramatiq.set_broker(StubBroker())


def refused_one(broker: BandedRedisBroker, **options: Any) -> str:
    """A plain producer's message whose gate needs an argument that it lacks; its dead letter."""
    producer = RedisBroker(client=broker.plain_client)
    with running(broker, queues={QUEUE}):
        producer.enqueue(dramatiq.Message(QUEUE, "order", (), {}, dict(options)))
        wait_until(broker.queue.views.dead, what="the dead letter")
    (letter,) = broker.queue.views.dead()
    return letter


def declare_needy() -> None:
    @dramatiq.actor(queue_name=QUEUE, band="HIGH", gates=["tenant:{tenant}"])
    def order(tenant: str) -> None: ...


def declare_content() -> list[int]:
    ran: list[int] = []

    @dramatiq.actor(queue_name=QUEUE, band="LOW", gates=["tenant:acme"])
    def order() -> None:
        ran.append(1)

    return ran


def test_it_is_refused_again_with_the_reason(driver: Driver, broker: BandedRedisBroker) -> None:
    declare_needy()
    letter = refused_one(broker, gates="disk")
    assert "gates: 'disk' is no list of gates" in driver.run("dead").out
    with running(broker, queues={QUEUE}):
        answer = driver.run("dead", "retry", letter)
    assert answer.code == 5
    assert "is refused again: InvalidRequest: gates: 'disk' is no list of gates" in answer.err
    (again,) = broker.queue.views.dead()
    assert again != letter


def test_it_runs_under_its_gates_once_it_is_allowed(driver: Driver, broker: BandedRedisBroker) -> None:
    declare_needy()
    letter = refused_one(broker, user_id="ann", gates=["disk"])
    broker.actors.clear()  # the next release of the application
    ran = declare_content()
    broker.queue.controls.set_limit("disk", 0)
    with running(broker, queues={QUEUE}):
        answer = driver.run("dead", "retry", letter, "--json")
        assert answer.code == 0, answer.err
        (retried,) = answer.json["retried"]
        meta = broker.queue.views.meta(retried["new_execution_id"])
        assert (meta["state"], meta["user"], meta["band"]) == ("PENDING", "ann", "3")
        assert meta["gates"].splitlines() == ["tenant:acme", "disk"]
        assert ran == []
        broker.queue.controls.set_limit("disk", None)
        wait_until(lambda: ran, what="it runs")
    assert broker.queue.views.dead() == []


def test_without_a_worker_it_waits_in_its_list(driver: Driver, broker: BandedRedisBroker) -> None:
    declare_needy()
    letter = refused_one(broker)
    broker.plain_client.hdel("exec_queue:rounds", f"lane:{QUEUE}")
    answer = driver.run("dead", "retry", letter)
    assert (answer.code, answer.out.strip().split(", ")[-1]) == (0, f"once a worker of lane {QUEUE} has checked it")
    assert f"no worker has asked for lane {QUEUE} yet" in answer.err
    broker.flush(QUEUE)


def test_one_that_was_kept_without_its_arguments_is_not_run_without_them(
    driver: Driver, broker: BandedRedisBroker
) -> None:
    message: dramatiq.Message[Any] = dramatiq.Message(QUEUE, "order", (), {}, {LEFT_OUT: True})
    broker.queue.transitions.bury(Candidate("long", QUEUE, 2, "order", message=message.encode()), "invalid")
    answer = driver.run("dead", "retry", "long")
    assert (answer.code, "long cannot be run again: its arguments could not be kept" in answer.err) == (1, True)
    assert broker.queue.views.dead() == ["long"]
