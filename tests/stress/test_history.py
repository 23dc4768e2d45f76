"""The history checker itself: it accepts what happened, and refuses the same journal with one thing changed."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import redis
from defects.contrast import event
from history import History

from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.queue import ExecutionQueueService

LIMITS = {"gpu": 1}


def journal_of_some_work(client: redis.Redis) -> list[JournalEntry]:
    """Parked a, b, c; granted a, c (b waits behind the gate that a holds); all ended."""
    queue = ExecutionQueueService(client)
    queue.controls.set_limit("gpu", 1)
    for execution_id, gates in (("a", ["gpu"]), ("b", ["gpu"]), ("c", [])):
        queue.enqueue(event(execution_id, gates=gates))
    for _ in range(2):
        queue.try_schedule(2)
    queue.release("a")
    queue.try_schedule(2)
    for execution_id in ("b", "c"):
        queue.release(execution_id)
    return list(queue.journal.entries())


def test_what_happened_is_accepted(redis_client: redis.Redis) -> None:
    history = History(2, LIMITS).read(journal_of_some_work(redis_client))
    assert history.grants == [("a", 1), ("c", 1), ("b", 1)]
    assert history.living() == []


def at(verb: str, execution_id: str, entries: list[JournalEntry]) -> int:
    return next(n for n, entry in enumerate(entries) if (entry.verb, entry.execution_id) == (verb, execution_id))


def grant_twice(entries: list[JournalEntry]) -> None:
    entries.insert(at("admit", "c", entries), entries[at("admit", "a", entries)])


def grant_the_later_first(entries: list[JournalEntry]) -> None:
    entries.insert(at("admit", "a", entries), entries.pop(at("admit", "c", entries)))


def grant_through_a_full_gate(entries: list[JournalEntry]) -> None:
    entries.insert(at("release", "a", entries), entries.pop(at("admit", "b", entries)))


def end_twice(entries: list[JournalEntry]) -> None:
    entries.append(entries[at("release", "a", entries)])


def settle_under_another_attempt(entries: list[JournalEntry]) -> None:
    index = at("release", "a", entries)
    entries[index] = replace(entries[index], fields={**entries[index].fields, "attempt": "2"})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (grant_twice, "attempt 1 after 1|to RUNNING"),
        (grant_the_later_first, "c was granted before a"),
        (grant_through_a_full_gate, "at the limit"),
        (end_twice, "ended as COMPLETED"),
        (settle_under_another_attempt, "another attempt"),
    ],
)
def test_what_may_not_happen_is_refused(
    change: Callable[[list[JournalEntry]], None], problem: str, redis_client: redis.Redis
) -> None:
    entries = journal_of_some_work(redis_client)
    change(entries)
    with pytest.raises(AssertionError, match=problem):
        History(2, LIMITS).read(entries)
