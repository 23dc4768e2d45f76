"""Slots of code and actors' executions of the same action pass one gate, in the order in which they were accepted."""

from collections.abc import Iterator
from typing import Any, cast

import dramatiq
import pytest
from crowding import NAME, Crowd, crowd, is_free, wait_for_one_more
from dramatiq import Worker
from dramatiq.brokers.stub import StubBroker

from bandmaster import BandedRedisBroker, ExecutionQueueService, Slots, State
from bandmaster.scheduler.engine.attending import Attending
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.engine.transitions import Candidate, Next
from bandmaster.scheduler.model.identifiers import slot_execution_id, slot_lane
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, wait_until

LANE = slot_lane(NAME)
EACH = 12


@pytest.fixture
def broker(redis_url: str, queue: ExecutionQueueService) -> Iterator[BandedRedisBroker]:
    """The broker whose lanes are pulled."""
    broker = BandedRedisBroker(client=client_of(redis_url))
    dramatiq.set_broker(broker)
    broker.emit_after("process_boot")
    yield broker
    broker.close()
    dramatiq.set_broker(StubBroker())


@pytest.fixture
def taking(broker: BandedRedisBroker, slots: Slots, queue: ExecutionQueueService) -> Iterator[Crowd]:
    """A crowd whose gate a worker with a free thread for everything passes as well."""
    with crowd(slots, queue, limit=1) as made:

        @dramatiq.actor(action=NAME, actor_name="fetch")
        def fetch(who: str) -> None:
            made.order.append(who)

        broker.declare_actor(fetch)
        worker = Worker(broker, worker_timeout=100, worker_threads=EACH)
        worker.start()
        try:
            yield made
        finally:
            made.end()
            worker.stop(timeout=GENEROUS_MS)
    assert is_free(queue)


def _send(broker: BandedRedisBroker, queue: ExecutionQueueService, who: str, band: Priority = Priority.NORMAL) -> None:
    fetch: Any = cast("Any", broker.get_actor("fetch"))

    def send() -> None:
        fetch.send_with_options(args=(who,), band=band)

    wait_for_one_more(queue, send)


def test_slots_and_actors_take_turns_as_they_came(
    broker: BandedRedisBroker, taking: Crowd, queue: ExecutionQueueService
) -> None:
    taking.enter("first")
    expected = ["first"]
    for number in range(EACH):
        _send(broker, queue, f"actor {number}")
        taking.enter(f"code {number}", holds=False)
        expected += [f"actor {number}", f"code {number}"]
    assert taking.order == ["first"]
    taking.leave("first")
    wait_until(lambda: len(taking.order) == len(expected), what="all of them")
    assert taking.order == expected


def test_a_better_band_goes_first_though_it_came_later(
    broker: BandedRedisBroker, taking: Crowd, queue: ExecutionQueueService
) -> None:
    taking.enter("first")
    taking.enter("code", holds=False)
    _send(broker, queue, "low", band=Priority.LOW)
    _send(broker, queue, "high", band=Priority.HIGH)
    # Whoever is sent is looked at by the worker, and found to wait for the gate, before the gate opens.
    keys = queue.scripts.keys
    wait_until(lambda: queue.scripts.client.zcard(keys.waiting(f"action:{NAME}", "default")) == 1)
    assert queue.scripts.client.zcard(keys.flow("default", f"action:{NAME}")) == 2
    taking.leave("first")
    wait_until(lambda: len(taking.order) == 4, what="all of them")
    assert taking.order == ["first", "high", "code", "low"]


def _park(queue: ExecutionQueueService, execution_id: str, lane: str) -> None:
    queue.transitions.park(Candidate(execution_id, lane, 2, NAME, event=b"{}"))


@pytest.fixture
def crossing(queue: ExecutionQueueService) -> ExecutionQueueService:
    """Two executions of a lane hold the gate; behind it, in their order: the lane's a, a slot, the lane's b."""
    queue.controls.set_limit(f"action:{NAME}", 2)
    for held in ("held 1", "held 2"):
        _park(queue, held.replace(" ", "-"), "mail")
    queue.transitions.admit(("mail",), 2, lease_ms=60_000, consumer=True)
    Attending(queue.scripts).attend("owner", [])
    _park(queue, "a", "mail")
    _park(queue, slot_execution_id("owner", 1), LANE)
    _park(queue, "b", "mail")
    assert queue.transitions.admit(("mail",), 5, lease_ms=60_000, consumer=True).grants == []
    return queue


def _exchange(queue: ExecutionQueueService, *released: str) -> list[str]:
    settlements = [Release(each, 1, State.COMPLETED) for each in released]
    call = queue.transitions.prepare_exchange(settlements, Next(("mail",), 5, 60_000), asks=True)
    _, _, _, _, grants = call.run()
    return [each.decode() for each in grants[::7]]


def _state(queue: ExecutionQueueService, execution_id: str) -> str:
    return queue.views.meta(execution_id)["state"]


def test_two_ends_in_one_call_make_room_for_who_came_first_in_each_lane(crossing: ExecutionQueueService) -> None:
    assert _exchange(crossing, "held-1", "held-2") == ["a"]
    assert _state(crossing, slot_execution_id("owner", 1)) == State.RUNNING
    assert _state(crossing, "b") == State.PENDING


def test_a_slot_leaves_room_to_who_came_before_and_insists_when_nobody_takes_it(
    crossing: ExecutionQueueService,
) -> None:
    slot = slot_execution_id("owner", 1)
    crossing.transitions.release("held-1", 1, State.COMPLETED)
    assert _state(crossing, slot) == State.PENDING, "a came first, and its worker asks for more"
    attending = Attending(crossing.scripts)
    assert attending.attend("owner", [LANE]).yielded == {LANE}
    attendance = attending.attend("owner", [LANE], insisted=[LANE])
    assert attendance.yielded == frozenset()
    assert slot in attendance.news
    assert _state(crossing, slot) == State.RUNNING


def test_a_lane_without_workers_holds_no_slot_back(queue: ExecutionQueueService, slots: Slots) -> None:
    queue.controls.set_limit(f"action:{NAME}", 1)
    _park(queue, "nobody-takes-it", "mail")
    with slots.slot(NAME, timeout=5):
        assert _state(queue, "nobody-takes-it") == State.PENDING
    queue.cancel("nobody-takes-it")


def test_a_paused_lane_holds_no_slot_back(queue: ExecutionQueueService, slots: Slots) -> None:
    queue.controls.set_limit(f"action:{NAME}", 1)
    queue.controls.pause("lane:mail")
    _park(queue, "is-paused", "mail")
    queue.transitions.admit(("mail",), 1, lease_ms=60_000, consumer=True)
    with slots.slot(NAME, timeout=5):
        assert _state(queue, "is-paused") == State.PENDING
    queue.cancel("is-paused")


def test_who_waits_for_a_thread_is_passed_after_a_while(queue: ExecutionQueueService, slots: Slots) -> None:
    """A worker that asks for the lane, but whose threads are all taken, does not keep a free slot idle for long."""
    queue.controls.set_limit(f"action:{NAME}", 1)
    _park(queue, "no-thread-is-free", "mail")
    with crowd(slots, queue, limit=None) as waiting:
        queue.transitions.admit(("mail",), 0, consumer=True)
        waiting.enter("code")
        wait_until(lambda: waiting.order, what="the slot that insists")
    queue.cancel("no-thread-is-free")
