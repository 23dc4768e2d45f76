"""How many slots of a name there are, how many may wait for them, and how many are granted in a time."""

import itertools
import statistics
import threading

import pytest
from crowding import NAME, crowd, is_free

from bandmaster import (
    ExecutionQueueService,
    QueueFull,
    Slots,
)
from bandmaster.scheduler.engine.journal import Verb
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.slots.rounds import ROUND_SECONDS
from waiting import wait_until


def test_a_full_queue_refuses_with_the_words_of_the_contract(queue: ExecutionQueueService) -> None:
    with Slots(queue, max_queue_length=2) as slots, crowd(slots, queue, limit=1) as full:
        for who in ("holds", "waits", "waits too"):
            full.enter(who)
        with pytest.raises(QueueFull, match=r"Queue full \(max length: 2\)"), slots.slot(NAME):
            pass
        with crowd(slots, queue, limit=1, name="other") as empty:
            empty.enter("another queue is not full")
        full.leave("holds", "waits", "waits too")
    assert is_free(queue)


def test_as_long_as_nobody_sets_anything_ten_thousand_may_wait(slots: Slots, queue: ExecutionQueueService) -> None:
    with slots.slot(NAME, limit=1):
        (status,) = queue.views.status_of([f"slot:{NAME}"])
    assert status.settings["max_queue_size"] == 10_000
    assert status.settings["stale_timeout_seconds"] is None


def test_an_operators_bound_of_all_slots_and_of_one_name_go_before_the_settings(queue: ExecutionQueueService) -> None:
    queue.controls.change_setting("max_queue_size", 1, lane="slot:*")
    queue.controls.change_setting("max_queue_size", 3, lane="slot:wide")
    with Slots(queue) as slots, crowd(slots, queue, 1) as narrow, crowd(slots, queue, 1, name="wide") as wide:
        for who in ("holds", "waits"):
            narrow.enter(who)
        for who in ("holds", "waits", "waits too", "and too"):
            wide.enter(who)
        for name, limit in ((NAME, 1), ("wide", 3)):
            with pytest.raises(QueueFull) as raised, slots.slot(name):
                pass
            assert raised.value.limit == limit


def test_an_operators_limit_goes_before_that_of_the_code(slots: Slots, queue: ExecutionQueueService) -> None:
    queue.controls.set_limit(f"action:{NAME}", 3)
    with crowd(slots, queue, limit=1) as four:
        for who in "ABCD":
            four.enter(who)
        wait_until(lambda: len(four.order) == 3)
        assert queue.action_statistics(NAME).queue_length == 1
        queue.controls.set_limit(f"action:{NAME}", 4)
        wait_until(lambda: len(four.order) == 4, what="a raised limit waking who waits")


def test_without_any_limit_nobody_waits(slots: Slots, queue: ExecutionQueueService) -> None:
    with crowd(slots, queue, limit=None) as all_of_them:
        for number in range(5):
            all_of_them.enter(str(number))
        wait_until(lambda: len(all_of_them.order) == 5)


def test_another_limit_in_the_code_replaces_the_one_before(slots: Slots, queue: ExecutionQueueService) -> None:
    with slots.slot(NAME, limit=1), slots.slot(NAME, limit=2):
        assert queue.action_statistics(NAME).max_concurrent == 2


def test_many_threads_never_hold_more_than_the_limit(slots: Slots, queue: ExecutionQueueService) -> None:
    lock, most, done = threading.Lock(), [0, 0], [0]

    def take() -> None:
        for _ in range(5):
            with slots.slot(NAME, limit=3):
                with lock:
                    most[0] += 1
                    most[1] = max(most)
                with lock:
                    most[0] -= 1
                    done[0] += 1

    threads = [threading.Thread(target=take) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert done == [100]
    assert 1 <= most[1] <= 3
    assert is_free(queue)


def test_a_rate_lets_the_next_one_in_when_it_is_time_and_not_at_the_next_look(
    slots: Slots, queue: ExecutionQueueService
) -> None:
    queue.controls.rates.set(f"action:{NAME}", Rate.read("20/s"))
    with crowd(slots, queue, limit=None) as waiting:
        for number in range(10):
            waiting.enter(f"slot-{number}")
        wait_until(lambda: len(waiting.order) == 10)
    # In the journal: who got a slot may be told of it later than another who got one 50 ms after it.
    accepted, admitted = (
        [entry for entry in queue.journal.entries() if entry.verb == verb] for verb in (Verb.PARK, Verb.ADMIT)
    )
    assert [entry.execution_id for entry in admitted] == [entry.execution_id for entry in accepted]
    gaps = [after.at_ms - before.at_ms for before, after in itertools.pairwise(admitted)]
    assert min(gaps) >= 50
    assert statistics.median(gaps) < ROUND_SECONDS * 1000 / 2
