"""A long list is read as far as somebody asks, and whole while the queue moves on."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler import ids, selecting
from bandmaster.scheduler.finding import known_ids
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.selecting import ANY, selected

MANY = 50_000
HEAD_BYTES = 500_000
"""More than a page of ids and one of records; all ids would be several times as many."""


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    return ExecutionQueueService(redis_client)


@pytest.fixture
def pages_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "READ_A_TRIP", 3)
    monkeypatch.setattr(selecting, "PAGE", 2)


def sent_bytes(client: redis.Redis) -> int:
    stats: Any = client.info("stats")
    return stats["total_net_output_bytes"]


@pytest.mark.parametrize(("group", "key"), [("waiting", "pending"), ("scheduled", "scheduled")])
def test_the_head_of_a_long_list_costs_no_more_than_that_of_a_short_one(
    queue: ExecutionQueueService, redis_client: redis.Redis, group: str, key: str
) -> None:
    due = {"scheduled_at": "2099-01-01T00:00:00Z"} if group == "scheduled" else {}
    names = [f"head-{number}" for number in range(3)]
    queue.enqueue_many([event(name, **due) for name in names])
    redis_client.zadd(f"exec_queue:{key}", {f"behind-{number:032}": 1e15 + number for number in range(MANY)})
    before = sent_bytes(redis_client)
    assert [each.execution_id for each in islice(selected(queue, group, ANY), 3)] == names
    assert sent_bytes(redis_client) - before < HEAD_BYTES


@pytest.mark.usefixtures("pages_are_short")
def test_all_pages_of_all_lanes_are_read_in_order(queue: ExecutionQueueService) -> None:
    names = [f"w-{number}" for number in range(20)]
    for number, name in enumerate(names):
        queue.on(f"lane-{number % 3}").enqueue(event(name))
    later = [f"s-{number}" for number in range(8)]
    queue.enqueue_many([event(name, scheduled_at="2099-01-01T00:00:00Z") for name in later])
    waiting = [(each.execution_id, each.position) for each in selected(queue, "waiting", ANY)]
    assert waiting == [(name, number) for number, name in enumerate(names)]
    assert [each.execution_id for each in selected(queue, "scheduled", ANY)] == later
    assert set(known_ids(queue)) == {*names, *later}


@pytest.mark.usefixtures("pages_are_short")
@pytest.mark.parametrize("count", [2, 3, 4, 10])
def test_those_with_one_score_are_all_read_and_each_once(
    queue: ExecutionQueueService, redis_client: redis.Redis, count: int
) -> None:
    same = {f"same-{number}": 5.0 for number in range(count)}
    redis_client.zadd("exec_queue:scheduled", {"before": 4.0, **same, "behind": 6.0})
    assert list(queue.ids.scheduled()) == ["before", *same, "behind"]


@pytest.mark.usefixtures("pages_are_short")
def test_what_begins_meanwhile_puts_nothing_past_the_reader(queue: ExecutionQueueService) -> None:
    names = [f"w-{number}" for number in range(12)]
    queue.enqueue_many([event(name) for name in names])

    def read() -> Iterator[str]:
        for each in selected(queue, "waiting", ANY):
            queue.try_schedule()
            yield each.execution_id

    found = list(read())
    assert set(names[6:]) <= set(found), "they waited while the first half began"
    assert found == sorted(found, key=names.index)


@pytest.mark.usefixtures("pages_are_short")
def test_one_that_is_moved_behind_the_reader_is_selected_once(queue: ExecutionQueueService) -> None:
    names = [f"w-{number}" for number in range(8)]
    queue.enqueue_many([event(name) for name in names])
    found: list[str] = []
    for each in selected(queue, "waiting", ANY):
        if not found:
            queue.transitions.reprioritise(each.execution_id, int(Priority.LOW))
        found.append(each.execution_id)
    assert found == names
