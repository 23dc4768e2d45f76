"""D1: bands are counted where their scores are. D2: order is that of acceptance, whatever ids and clocks say."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.contrast import contrast, event
from defects.simple_queue import SimpleQueue


def test_d1_each_band_is_counted_under_its_own_name(simple: SimpleQueue, ours: ExecutionQueueService) -> None:
    def holds(queue: Any) -> bool:
        for priority in Priority:
            for number in range(priority + 1):
                queue.enqueue(event(f"{priority.name}-{number}", priority=priority.name))
        return queue.get_pending_by_priority() == {priority.name: priority + 1 for priority in Priority}

    contrast(holds, simple=simple, ours=ours)


def ids_as_started(queue: Any, count: int) -> list[str]:
    started = [queue.try_schedule(count) for _ in range(count)]
    return [one[0] for one in started if one is not None]


@pytest.mark.parametrize(
    "clock",
    [
        pytest.param(lambda: 1_800_000_000_000, id="all in one millisecond"),
        pytest.param(iter((1_800_000_010_000, 1_800_000_005_000, 1_800_000_000_000)).__next__, id="clocks that differ"),
    ],
)
def test_d2_who_was_accepted_first_starts_first(
    clock: Callable[[], int], simple: SimpleQueue, ours: ExecutionQueueService
) -> None:
    simple.clock = clock

    def holds(queue: Any) -> bool:
        ids = ["c", "b", "a"]
        for execution_id in ids:
            queue.enqueue(event(execution_id))
        return ids_as_started(queue, 3) == ids

    contrast(holds, simple=simple, ours=ours)


def test_d2_a_thousand_accepted_in_a_moment_start_in_that_order(ours: ExecutionQueueService) -> None:
    ids = [f"{number % 7}-{number}" for number in range(1000)]
    ours.enqueue_many([event(execution_id) for execution_id in ids])
    assert ours.views.pending(1000) == ids


def test_d2_those_due_at_one_moment_start_in_the_order_in_which_they_were_accepted(ours: ExecutionQueueService) -> None:
    due = datetime(2099, 1, 1, tzinfo=UTC)
    for execution_id in ("c", "b", "a"):
        ours.enqueue(event(execution_id, scheduled_at=due))
    assert ours.views.scheduled() == ["c", "b", "a"]
