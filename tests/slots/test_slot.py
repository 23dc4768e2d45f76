"""`with slot(…)`: who waits gets slots in order, under the limit; what is refused, late or ended leaves nothing."""

import gc
import threading
from datetime import UTC, datetime, timedelta

import pytest
import redis
from crowding import NAME, crowd, in_queue, is_free, wait_for_one_more

from bandmaster import (
    ExecutionQueueService,
    InvalidRequest,
    QueueUnavailable,
    SlotCancelled,
    Slots,
    SlotTimeout,
    State,
    get_queue_stats,
    slot,
)
from waiting import GENEROUS_SECONDS, wait_until

LEASE_MS = 6_000
"""Renewed every two seconds; no busy machine loses one."""


def test_the_worked_example_a_to_e_with_two_slots(slots: Slots, queue: ExecutionQueueService) -> None:
    with crowd(slots, queue, limit=2) as all_five:
        for who in "ABCDE":
            all_five.enter(who)
        wait_until(lambda: len(all_five.order) == 2)
        assert set(all_five.order) == {"A", "B"}
        order = list(all_five.order)
        found = slots.get_queue_stats(NAME)
        assert (found.queue_length, found.active_count, found.max_concurrent) == (3, 2, 2)
        for leaving, following in (("A", "C"), ("B", "D"), ("C", "E")):
            all_five.leave(leaving)
            order.append(following)
            wait_until(lambda: len(all_five.order) == len(order))
            assert all_five.order == order
    assert is_free(queue)
    assert slots.get_queue_stats(NAME).total_completed == 5


def test_the_statistics_are_those_that_tools_read(slots: Slots, queue: ExecutionQueueService) -> None:
    assert slots.get_queue_stats("never").oldest_enqueued_at is None
    with crowd(slots, queue, limit=1) as two:
        two.enter("first")
        two.enter("second")
        found = get_queue_stats(NAME, queue=queue)
        assert (found.action_id, found.queue_length, found.active_count, found.max_concurrent) == (NAME, 1, 1, 1)
        assert (found.total_enqueued, found.total_completed) == (2, 0)
        assert found.oldest_enqueued_at is not None
        assert abs(found.oldest_enqueued_at - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_slot_is_an_execution_that_operators_see(slots: Slots, queue: ExecutionQueueService) -> None:
    with slots.slot(NAME, limit=1) as held:
        found = queue.explain(held.execution_id)
        assert (found.state, found.meta["action"], found.lane) == (State.RUNNING, NAME, f"slot:{NAME}")
        assert held.waited_seconds >= 0
        assert not held.is_lost
        assert not held.is_cancelled
    assert queue.views.meta(held.execution_id)["state"] == State.COMPLETED


def test_the_block_raises_and_its_slot_is_free(slots: Slots, queue: ExecutionQueueService) -> None:
    with pytest.raises(ZeroDivisionError), slots.slot(NAME, limit=1) as held:
        raise ZeroDivisionError
    assert is_free(queue)
    assert queue.views.meta(held.execution_id)["state"] == State.FAILED


def test_a_timeout_says_for_what_how_long_and_behind_how_many_it_waited(
    slots: Slots, queue: ExecutionQueueService
) -> None:
    with crowd(slots, queue, limit=1) as others:
        others.enter("holds")
        others.enter("waits", holds=False)
        with pytest.raises(SlotTimeout) as raised, slots.slot(NAME, limit=1, timeout=0.05):
            pass
        assert (raised.value.name, raised.value.before) == (NAME, 1)
        assert (raised.value.held, raised.value.limit) == (1, 1)
        assert raised.value.waited_seconds >= 0.05
        assert "1 was before it, and 1 of 1 slots are held; wait longer" in str(raised.value)
        assert in_queue(queue) == 2, "the one that timed out left its place"


def test_a_thread_that_has_the_number_of_one_that_ended_holds_nothing_of_it(slots: Slots) -> None:
    # Kept, for a slot that is forgotten is given back.
    kept, taken = slots.slot(NAME, limit=1), list[int]()

    def take() -> None:
        kept.__enter__()
        taken.append(threading.get_ident())

    taking = threading.Thread(target=take)
    taking.start()
    taking.join()
    told: list[str] = []
    end = threading.Event()

    def wait() -> None:
        if threading.get_ident() == taken[0]:
            with pytest.raises(SlotTimeout) as raised, slots.slot(NAME, 1, timeout=0):
                pass
            told.append(str(raised.value))
        end.wait()

    # All live at once, so each has another number, until one has that of the first.
    alive: list[threading.Thread] = []
    while len(alive) < 500 and taken[0] not in {each.ident for each in alive}:
        alive.append(threading.Thread(target=wait))
        alive[-1].start()
    end.set()
    for each in alive:
        each.join()
    kept.__exit__(None, None, None)
    assert len(told) == 1
    assert "its own thread" not in told[0]


def test_a_timeout_of_0_takes_what_is_free_and_does_not_wait(slots: Slots, queue: ExecutionQueueService) -> None:
    with slots.slot(NAME, limit=1, timeout=0):
        with pytest.raises(SlotTimeout, match="its own thread or task holds one"), slots.slot(NAME, 1, timeout=0):
            pass
        assert in_queue(queue) == 1
    assert is_free(queue)


def test_the_timeout_of_all_waits_is_the_queues(queue: ExecutionQueueService) -> None:
    with Slots(queue, queue_timeout_seconds=0.05) as slots, slots.slot(NAME, limit=1):
        with pytest.raises(SlotTimeout), slots.slot(NAME):
            pass
        assert in_queue(queue) == 1


def test_one_slot_object_may_be_entered_again_and_takes_a_slot_each_time(
    slots: Slots, queue: ExecutionQueueService
) -> None:
    fetch = slots.slot(NAME, limit=2)
    with fetch as one, fetch as other:
        assert one.execution_id != other.execution_id
        assert in_queue(queue) == 2
    assert is_free(queue)


def test_one_slot_object_may_be_shared_by_threads_of_which_some_still_wait(
    slots: Slots, queue: ExecutionQueueService
) -> None:
    fetch = slots.slot(NAME, limit=1)
    took: list[int] = []

    def take(number: int) -> None:
        with fetch:
            took.append(number)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(5)]
    with fetch:
        for thread in threads:
            wait_for_one_more(queue, thread.start)
    for thread in threads:
        thread.join(GENEROUS_SECONDS)
    assert took == [0, 1, 2, 3, 4]
    assert is_free(queue)


def test_slots_that_are_closed_refuse_and_have_ended_what_waited(queue: ExecutionQueueService) -> None:
    slots = Slots(queue)
    with crowd(slots, queue, limit=1) as two:
        two.enter("holds")
        two.enter("waits")
        slots.close()
        assert is_free(queue)
        wait_until(lambda: two.errors, what="the wait that ended")
        with pytest.raises(SlotCancelled, match=f"'{NAME}' was ended: CANCELLED, closed"), slots.slot(NAME):
            pass
    (error,) = two.errors
    assert isinstance(error, SlotCancelled)


def test_a_wait_that_an_operator_ends_raises_at_once(slots: Slots, queue: ExecutionQueueService) -> None:
    with crowd(slots, queue, limit=1) as two:
        two.enter("holds")
        two.enter("waits")
        (waiting,) = queue.on(f"slot:{NAME}").views.pending()
        queue.cancel(waiting)
        wait_until(lambda: two.errors, what="the wait that ended")
        (error,) = two.errors
        assert isinstance(error, SlotCancelled)
        assert (error.state, error.reason) == (State.CANCELLED, "cancelled")
    assert is_free(queue)


def test_a_slot_whose_end_was_asked_for_says_so_and_is_held_until_the_block_ends(
    slots: Slots, queue: ExecutionQueueService
) -> None:
    queue.controls.change_setting("lease_ttl_ms", LEASE_MS)
    with slots.slot(NAME, limit=1) as held:
        queue.cancel(held.execution_id)
        wait_until(lambda: held.is_cancelled, what="the next renewal")
        assert in_queue(queue) == 1
    assert is_free(queue)


def test_a_pause_holds_slots_back_too(slots: Slots, queue: ExecutionQueueService) -> None:
    for name in (f"action:{NAME}", f"lane:slot:{NAME}", "*"):
        queue.controls.pause(name)
        with crowd(slots, queue, limit=1) as one:
            one.enter(name)
            assert queue.action_statistics(NAME).queue_length == 1
            queue.controls.resume(name)
            wait_until(lambda: one.order, what="the end of the pause waking who waits")


def test_leases_are_renewed_while_a_slot_is_held(slots: Slots, queue: ExecutionQueueService) -> None:
    queue.controls.change_setting("lease_ttl_ms", LEASE_MS)
    with slots.slot(NAME, limit=1) as held:
        lease = "\n".join([held.execution_id, f"slot:{NAME}", f"action:{NAME}"])
        key = queue.scripts.keys.named("lease")
        first = queue.scripts.client.zscore(key, lease)
        wait_until(lambda: queue.scripts.client.zscore(key, lease) > first, what="a renewal")
        assert not held.is_lost


def test_a_slot_that_nobody_gives_back_is_given_back_with_its_object(
    slots: Slots, queue: ExecutionQueueService
) -> None:
    """As after an exception that strikes between the grant and the block."""
    taken = slots.slot(NAME, limit=1)
    taken.__enter__()
    assert in_queue(queue) == 1
    del taken
    wait_until(lambda: is_free(queue), what="the slot that was dropped")


def test_what_is_no_name_no_limit_or_no_time_is_refused(slots: Slots, queue: ExecutionQueueService) -> None:
    for name in ("", "a b", "x" * 129, "some:held"):
        with pytest.raises(InvalidRequest):
            slots.slot(name)
    for limit in (-1, 1.5, True):
        with pytest.raises(InvalidRequest):
            slots.slot(NAME, limit=limit)  # type: ignore[arg-type]  # an application may be untyped
    for timeout in (-1, float("nan"), float("inf"), "5"):
        with pytest.raises(InvalidRequest):
            slots.slot(NAME, timeout=timeout)  # type: ignore[arg-type]
    with slot("a.B_c-d:e%20", limit=1, queue=queue):
        assert in_queue(queue, "a.B_c-d:e%20") == 1


def test_a_server_that_is_away_is_said_within_the_deadline(redis_url: str) -> None:
    nowhere = ExecutionQueueService(redis.Redis(unix_socket_path="/nowhere"), deadline_seconds=0.2)
    with Slots(nowhere) as slots, pytest.raises(QueueUnavailable), slots.slot(NAME):
        pass


def test_a_slot_whose_context_is_forgotten_is_given_back_and_lost(slots: Slots, queue: ExecutionQueueService) -> None:
    held = slots.slot(NAME, limit=1).__enter__()  # as code does that never leaves it
    gc.collect()
    wait_until(lambda: is_free(queue), what="the slot, given back")
    assert held.is_lost
    with slots.slot(NAME, limit=1, timeout=GENEROUS_SECONDS) as another:
        assert not another.is_lost
