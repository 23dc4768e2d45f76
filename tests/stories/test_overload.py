"""A service that fails when more than so many call it at once: the limit finds that number, work goes on, and when the
service takes more, the limit climbs."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from acceptance.workers import Workers
from dramatiq import Message

from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.auto import BY, Adjusted, Auto
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

pytestmark = pytest.mark.slow

GATE = "action:call"
AUTO = Auto(2, 16)
LANE = "default"
TAKES = 6
"""As many calls at once go well."""


@pytest.fixture
def workers(redis_url: str, tmp_path: Path) -> Iterator[Workers]:
    made = Workers(redis_url, tmp_path, module="stories.overload")
    yield made
    made.end()


def keep_waiting(queue: ExecutionQueueService, sent: list[str]) -> None:
    """So much that the gate is always full."""
    waits = queue.on(LANE).views.status().queue_depth
    names = [f"call-{number}" for number in range(len(sent), len(sent) + max(0, 100 - waits))]
    sent += names
    message = [Message[Any](queue_name=LANE, actor_name="call", args=(n,), kwargs={}, options={}) for n in names]
    queue.transitions.park_many(
        [
            Candidate(name, LANE, 2, "call", timeout_ms=60_000, message=each.encode())
            for name, each in zip(names, message, strict=True)
        ]
    )


def adjustments(queue: ExecutionQueueService) -> list[tuple[int, str]]:
    """The limits that it had, each with the reason."""
    found: list[tuple[int, str]] = []
    for entry in queue.journal.entries():
        if entry.verb == "limit" and entry.fields["by"] == BY:
            adjusted = Adjusted.from_journal(entry.fields["to"])
            assert adjusted is not None
            found.append((adjusted.now, entry.fields["to"].partition(": ")[2]))
    return found


def test_the_limit_finds_what_a_service_takes_and_climbs_when_it_takes_more(
    redis_client: redis.Redis, workers: Workers
) -> None:
    queue, sent = ExecutionQueueService(redis_client), list[str]()
    redis_client.set("takes", TAKES)
    queue.controls.set_limit(GATE, AUTO)
    keep_waiting(queue, sent)
    for _ in range(2):
        workers.start(threads=8)

    def lowered() -> int:
        keep_waiting(queue, sent)
        return sum("failed" in why for _, why in adjustments(queue))

    wait_until(lambda: lowered() >= 3, timeout_seconds=180, what="lowered three times")
    found = adjustments(queue)
    assert all(AUTO.least <= limit <= AUTO.most for limit, _ in found)
    failed_at = [before for (before, _), (_, why) in itertools.pairwise(found) if "failed" in why]
    assert all(TAKES < limit <= 2 * TAKES for limit in failed_at), "it was lowered too soon, or too late"
    assert redis_client.llen("ended") > 50, "work goes on"

    redis_client.set("takes", 1_000)

    def climbed() -> bool:
        keep_waiting(queue, sent)
        return queue.controls.limits()[GATE] > 2 * TAKES

    wait_until(climbed, timeout_seconds=180, what="more than the service took before")
    workers.probe(queue)
