"""What leaves the journal: what the ledger has, when it is old enough, and the oldest of all where memory ends."""

from collections.abc import Callable, Iterator

import pytest
import redis
from ledger_reading import Reading, catch_up

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.trimming import Trimming
from bandmaster.scheduler.engine.journal_following import Follower, Position
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

pytestmark = pytest.mark.slow

JOURNAL = "exec_queue:journal"
A_NODE = 100
"""So many entries Redis drops together, and not a part of them."""
BOUND = 1_048_576
SLACK = 1.15
"""Of the bound: so many entries come between two looks."""


class Seconds:
    """A clock that a test turns."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def journal_much(queue: ExecutionQueueService, count: int, *, by: str = "a test") -> None:
    for number in range(count):
        queue.controls.set_limit("tenant", number % 2 + 1, by=by)


def fill(queue: ExecutionQueueService, redis_client: redis.Redis, *, by: str) -> int:
    """Journal more and more, until the oldest go; the most memory that it ever took."""
    used = [0]
    while used[-1] >= max(used):
        journal_much(queue, 500, by=by)
        used.append(redis_client.memory_usage(JOURNAL) or 0)
    return max(used)


def enqueue(queue: ExecutionQueueService, name: str) -> None:
    queue.enqueue(ExecutionRequestedEvent(execution_id=name, command=("true",)))


@pytest.fixture
def follower(queue: ExecutionQueueService) -> Follower:
    return Follower(queue.scripts)


def read_to_the_end(follower: Follower) -> Position:
    return follower.end()


def test_what_was_read_is_dropped_and_the_rest_stays(
    queue: ExecutionQueueService, follower: Follower, redis_client: redis.Redis
) -> None:
    journal_much(queue, 5 * A_NODE)
    read = read_to_the_end(follower)
    journal_much(queue, 5 * A_NODE)
    trimming = Trimming(follower, keep_seconds=0, keep_entries=0)
    dropped = trimming.step(read, queue.views.server_time_ms() + 1)
    assert 4 * A_NODE <= dropped <= 5 * A_NODE
    assert redis_client.xlen(JOURNAL) == 10 * A_NODE - dropped
    page = follower.read(read, 10 * A_NODE)
    assert page is not None
    assert (len(page.entries), page.missed) == (5 * A_NODE, 0), "nothing that was not read is gone"


@pytest.mark.parametrize(("keep_seconds", "keep_entries"), [(600, 0), (0, 10 * A_NODE)], ids=["young", "latest"])
def test_what_is_young_or_among_the_latest_stays(
    keep_seconds: int, keep_entries: int, queue: ExecutionQueueService, follower: Follower, redis_client: redis.Redis
) -> None:
    journal_much(queue, 5 * A_NODE)
    trimming = Trimming(follower, keep_seconds=keep_seconds, keep_entries=keep_entries)
    assert trimming.step(read_to_the_end(follower), queue.views.server_time_ms() + 1) == 0
    assert redis_client.xlen(JOURNAL) == 5 * A_NODE


def test_another_journal_than_the_one_that_was_read_is_left_alone(
    queue: ExecutionQueueService, follower: Follower, redis_client: redis.Redis
) -> None:
    read_to_the_end(follower)
    redis_client.flushdb()
    journal_much(queue, 5 * A_NODE)
    end = read_to_the_end(follower)
    trimming = Trimming(follower, keep_seconds=0, keep_entries=0)
    other = Position("another-name", end.entry_id, end.count)
    assert trimming.step(other, queue.views.server_time_ms() + 1) == 0
    assert redis_client.xlen(JOURNAL) == 5 * A_NODE


def test_it_is_asked_once_a_second(queue: ExecutionQueueService, follower: Follower, redis_client: redis.Redis) -> None:
    seconds = Seconds()
    trimming = Trimming(follower, keep_seconds=0, keep_entries=0, clock=seconds)
    trimming.step(read_to_the_end(follower), queue.views.server_time_ms())
    journal_much(queue, 5 * A_NODE)
    end = read_to_the_end(follower)
    assert trimming.step(end, queue.views.server_time_ms() + 1) == 0
    seconds.now += 1
    assert trimming.step(end, queue.views.server_time_ms() + 1) > 0


def test_the_consumer_drops_what_it_committed_and_that_is_no_gap(
    queue: ExecutionQueueService,
    consumer: Consumer,
    reading: Reading,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumer, "_trimming", Trimming(Follower(queue.scripts), keep_seconds=0, keep_entries=0))
    journal_much(queue, 5 * A_NODE)
    catch_up(consumer)
    assert redis_client.xlen(JOURNAL) <= 2 * A_NODE
    enqueue(queue, "later")
    catch_up(consumer)
    assert reading.one("SELECT count(*) FROM changes") == 5 * A_NODE
    assert reading.one("SELECT state FROM executions") == "PENDING"
    assert reading.one("SELECT count(*) FROM gaps") == 0


def test_a_full_journal_drops_the_oldest_and_the_ledger_says_so_and_is_right_again(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    queue.controls.change_setting("journal_max_bytes", BOUND)
    enqueue(queue, "ended-unread")
    assert queue.try_schedule() is not None
    enqueue(queue, "waits")
    catch_up(consumer)
    queue.release("ended-unread")
    fill(queue, redis_client, by="a" * 200)
    enqueue(queue, "latest")
    catch_up(consumer)
    assert reading.one("SELECT count(*) FROM gaps") == 1
    assert reading.rows("SELECT execution_id, state FROM executions ORDER BY execution_id") == [
        {"execution_id": "ended-unread", "state": "COMPLETED"},
        {"execution_id": "latest", "state": "PENDING"},
        {"execution_id": "waits", "state": "PENDING"},
    ]


@pytest.mark.parametrize("by", ["a", "a" * 200], ids=["short", "long"])
def test_a_journal_takes_no_more_memory_than_its_bound(
    by: str, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.controls.change_setting("journal_max_bytes", BOUND)
    assert 0.5 * BOUND < fill(queue, redis_client, by=by) <= SLACK * BOUND
    (newest,) = queue.journal.entries(newest_first=True, limit=1)
    assert newest.fields["by"] == by


@pytest.fixture(params=["full", "replica"])
def refusing_writes(request: pytest.FixtureRequest, redis_client: redis.Redis) -> Iterator[Callable[[], None]]:
    def refuse() -> None:
        if request.param == "full":
            redis_client.config_set("maxmemory", 1)
        else:
            redis_client.execute_command("REPLICAOF", "127.0.0.1", "1")

    yield refuse
    redis_client.config_set("maxmemory", 0)
    redis_client.execute_command("REPLICAOF", "NO", "ONE")


def test_a_named_journal_is_read_where_nothing_can_be_written(
    queue: ExecutionQueueService, follower: Follower, refusing_writes: Callable[[], None]
) -> None:
    enqueue(queue, "one")
    named = follower.end()
    refusing_writes()
    assert follower.end() == named
    assert follower.begin().incarnation == named.incarnation
