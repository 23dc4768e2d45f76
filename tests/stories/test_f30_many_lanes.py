"""F30: more lanes than threads. Idle, a worker hardly asks; with work in one lane or in all, every thread is at work,
and what starts next is the best of all lanes.
"""

import random
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import redis
from acceptance.workers import Workers
from dramatiq import Message
from history import History

from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

pytestmark = pytest.mark.slow

# Not imported: the module is an application that needs its server's URL.
LANES = [f"lane-{number}" for number in range(19)] + ["default"]
THREADS = 8
JOBS = 400
SECONDS = 0.02
IDLE_CALLS = 6
LIMIT = 100
SEED = 30


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """The application's."""
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("max_concurrent", LIMIT)
    return queue


@pytest.fixture
def crew(redis_url: str, tmp_path: Path) -> Iterator[Workers]:
    """Its workers; all are ended."""
    made = Workers(redis_url, tmp_path, module="stories.many_lanes")
    yield made
    made.end()


def candidate(name: str, lane: str, band: int) -> Candidate:
    """A job, as a producer's broker sends it."""
    actor = f"job-{lane}"
    message = Message[Any](queue_name=lane, actor_name=actor, args=(name, SECONDS), kwargs={}, options={})
    return Candidate(name, lane, band, actor, timeout_ms=60_000, message=message.encode())


def said(client: redis.Redis) -> list[str]:
    """What the bodies said, in order."""
    raw: Any = client.lrange("said", 0, -1)
    return [line.decode() for line in raw]


def most_at_once(lines: list[str]) -> int:
    """How many bodies ran at once at most."""
    return max(accumulate(1 if line[0] == "+" else -1 for line in lines))


def asked(client: redis.Redis) -> int:
    """How often workers asked for executions or waited for a token; the rest is Dramatiq's look into its lists."""
    statistics: Any = client.info("commandstats")
    return sum(statistics.get(f"cmdstat_{command}", {}).get("calls", 0) for command in ("fcall", "blpop"))


def drain(queue: ExecutionQueueService, client: redis.Redis, candidates: list[Candidate]) -> int:
    """Park all, wait until all have ended; returns how often the server was asked meanwhile."""
    client.delete("said")
    before = asked(client)
    queue.controls.pause()
    queue.transitions.park_many(candidates)
    queue.controls.resume()
    wait_until(lambda: len(said(client)) == 2 * len(candidates), timeout_seconds=60, what="the end of all jobs")
    wait_until(lambda: not any(queue.views.lane_size(lane) for lane in LANES), what="their settlement")
    assert most_at_once(said(client)) == THREADS
    return asked(client) - before


def test_more_lanes_than_threads_cost_neither_throughput_nor_order(
    queue: ExecutionQueueService, crew: Workers, redis_client: redis.Redis
) -> None:
    crew.start(threads=THREADS)
    crew.probe(queue)  # so it has begun

    before, began = 0, 0.0
    for _ in range(2):  # the first ones may still be of the probe
        before, began = asked(redis_client), time.monotonic()
        wait_until(lambda least=before + IDLE_CALLS: asked(redis_client) >= least, what="some idle calls")
    idle = asked(redis_client) - before
    assert idle <= 3 * 2 * (time.monotonic() - began), "two a second, whatever the lanes"

    one_lane = drain(queue, redis_client, [candidate(f"one-{n}", LANES[7], 2) for n in range(JOBS)])
    draw = random.Random(SEED)
    mixed = [candidate(f"all-{n}", draw.choice(LANES), draw.randrange(5)) for n in range(JOBS)]
    all_lanes = drain(queue, redis_client, mixed)
    # One call settles each and admits the next; empty ones would come in between by the hundred.
    assert max(one_lane, all_lanes) < 2 * JOBS

    journal = list(queue.journal.entries())
    assert History(LIMIT, {}).read(journal).living() == []
    scores = {entry.execution_id: float(entry.fields["score"]) for entry in journal if entry.verb == "park"}
    admitted = [scores[e.execution_id] for e in journal if e.verb == "admit" and e.execution_id.startswith("all-")]
    assert admitted == sorted(admitted)
    crew.probe(queue)
