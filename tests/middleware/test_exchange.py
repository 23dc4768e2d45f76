"""`Exchange`: each settlement of a batch stands for itself, and there are as many grants as threads."""

import threading
from collections.abc import Callable

import dramatiq
import pytest
import redis
from exchanging import Exchanged
from forked import holds_in_child
from proxy import proxy_before
from redis.backoff import NoBackoff
from redis.retry import Retry

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.middleware.grants.asked import Asking, Settling, fitting
from bandmaster.middleware.grants.permits import LANES
from bandmaster.middleware.grants.table import GrantedMessage
from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.engine.settlements import MOST_SETTLEMENTS, Release
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_SECONDS, wait_until

GATE = "disk"
THREADS = 8
DEADLINE_SECONDS = 0.5


@pytest.fixture
def send(broker: BandedRedisBroker) -> Callable[[int], list[str]]:
    """Send so many that are alike."""

    @dramatiq.actor(broker=broker, band="HIGH", queue_name="default")
    def plain() -> None: ...

    return lambda count: [plain.send().message_id for _ in range(count)]


def settling(message: GrantedMessage) -> Settling:
    grant = message.entry.grant
    release = Release(grant.execution_id, grant.attempt, State.COMPLETED, grant.nonce, only=State.RUNNING)
    return Settling(release, message.entry)


def states(queue: ExecutionQueueService, ids: list[str]) -> list[str]:
    return [queue.views.meta(execution_id)["state"] for execution_id in ids]


class Together(threading.Thread):
    """A thread that settles one, and asks again as Dramatiq does."""

    def __init__(self, work: Exchanged, message: GrantedMessage) -> None:
        super().__init__(daemon=True)
        self._work, self.message = work, message
        self.settling = settling(message)
        self.refused = 0
        self.mended = threading.Event()
        self.start()

    def run(self) -> None:
        while True:
            try:
                self._work.exchange.settle(self.settling)
                return
            except QueueUnavailable:
                self.refused += 1
                if self.refused > 1:
                    self.mended.wait(GENEROUS_SECONDS)


def test_a_damaged_one_is_asked_for_alone_and_its_neighbours_go_on(
    broker: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    @dramatiq.actor(broker=broker, band="HIGH", queue_name="default", gates=[GATE])
    def gated() -> None: ...

    @dramatiq.actor(broker=broker, band="LOW", queue_name="default")
    def plain() -> None: ...

    queue.controls.set_limit(GATE, 5)
    with proxy_before(redis_url_of(redis_client)) as proxy, redis.Redis.from_url(proxy.url) as client:
        sent = [gated.send().message_id, *(plain.send().message_id for _ in range(7))]
        after = plain.send().message_id
        work = Exchanged(broker, client, ("default",), THREADS)
        assert work.ask() == THREADS
        messages = work.begun()
        bad = next(message for message in messages if message.actor_name == "gated")
        held_key = queue.scripts.keys.held(GATE)
        assert redis_client.exists(held_key)
        kept = redis_client.dump(held_key)
        redis_client.set(held_key, "of a wrong type")
        asked: list[int] = []
        proxy.lose_command(lambda command: bool(asked.append(count(command, sent))))
        proxy.delay_seconds = 0.05  # so that they come while a call is under way
        threads = [Together(work, message) for message in messages]
        good = [thread for thread in threads if thread.message is not bad]
        (its,) = [thread for thread in threads if thread.message is bad]
        for thread in good:
            thread.join(GENEROUS_SECONDS)
            assert not thread.is_alive(), "a neighbour is held up"
        wait_until(lambda: its.refused > 1, what="it is refused again, alone")
        assert asked[-1] == 1
        assert max(asked) > 1
        assert {thread.settling.outcome.code for thread in good if thread.settling.outcome} == {Code.OK}
        assert states(queue, sent[1:]) == [State.COMPLETED] * 7
        assert its.is_alive()
        assert [message.message_id for message in work.taken()] == [after], "their threads take what comes next"
        assert work.held.has(bad.entry)
        assert work.permits.held(LANES) == 2
        redis_client.restore(held_key, 0, kept, replace=True)  # type: ignore[arg-type]
        its.mended.set()
        its.join(GENEROUS_SECONDS)
        assert states(queue, sent[:1]) == [State.COMPLETED]
        assert not work.held.has(bad.entry)
        assert not redis_client.exists(held_key)


def redis_url_of(client: redis.Redis) -> str:
    options = client.connection_pool.connection_kwargs
    return f"unix://{options['path']}" if "path" in options else f"redis://{options['host']}:{options['port']}"


def count(command: list[bytes], ids: list[str]) -> int:
    return len({execution_id.encode() for execution_id in ids} & set(command))


def test_no_correction_takes_what_the_pump_has_in_hand(
    broker: BandedRedisBroker, redis_client: redis.Redis, send: Callable[[int], list[str]]
) -> None:
    send(6)
    work = Exchanged(broker, redis_client, ("default",), 2)
    asking = Asking(lambda: work.lanes, work.permits.take(LANES, 2, 0, in_hand=True))
    for _ in range(3):
        work.exchange.tend()
    assert work.permits.free == 0
    assert work.exchange.ask(asking).started == 2
    assert work.ask() == 0
    assert len(work.begun()) == 2
    work.exchange.tend()
    assert (work.permits.free, len(work.held)) == (0, 2)


def test_a_permit_that_an_exception_lost_comes_back(broker: BandedRedisBroker, redis_client: redis.Redis) -> None:
    work = Exchanged(broker, redis_client, ("default",), 2)
    work.permits.take(LANES, 1, 0)  # and the thread is struck before it is behind anything
    work.exchange.tend()
    assert work.permits.free == 2


def test_a_thread_that_gave_up_leaves_its_settlement_and_its_permit_to_others(
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    redis_client: redis.Redis,
    redis_url: str,
    send: Callable[[int], list[str]],
) -> None:
    (sent,) = send(1)
    with proxy_before(redis_url) as proxy, redis.Redis.from_url(proxy.url, retry=Retry(NoBackoff(), 0)) as client:
        work = Exchanged(broker, client, ("default",), 1, deadline_seconds=DEADLINE_SECONDS)
        assert work.ask() == 1
        (message,) = work.begun()
        proxy.lose_command(lambda command: command[0] == b"FCALL")
        with pytest.raises(QueueUnavailable):
            work.exchange.settle(settling(message))
        work.exchange.let_go(message.entry)  # as when Dramatiq does not try again
        assert (work.permits.free, len(work.held)) == (1, 0)
        assert states(queue, [sent]) == [State.RUNNING]
        proxy.lose_command(lambda _: False)
        work.exchange.tend()
        assert states(queue, [sent]) == [State.COMPLETED]
        assert work.permits.free == 1


def test_a_lane_whose_consumer_comes_while_a_request_waits_is_not_passed_over(
    broker: BandedRedisBroker, redis_client: redis.Redis
) -> None:
    @dramatiq.actor(broker=broker, band="HIGH", queue_name="first")
    def first() -> None: ...

    @dramatiq.actor(broker=broker, band="CRITICAL", queue_name="second")
    def second() -> None: ...

    first.send()
    second.send()
    work = Exchanged(broker, redis_client, ("first",), 1)
    asking = Asking(lambda: work.lanes, work.permits.take(LANES, 1, 0, in_hand=True))
    work.lanes = ("first", "second")
    assert work.exchange.ask(asking).started == 1
    assert [message.actor_name for message in work.taken()] == ["second"]


def test_no_more_settlements_go_in_a_call_than_may(broker: BandedRedisBroker, redis_client: redis.Redis) -> None:
    asks = [Settling(Release(f"e{number}", 1, State.COMPLETED)) for number in range(MOST_SETTLEMENTS + 2)]
    assert fitting([*asks]) == asks[:MOST_SETTLEMENTS]
    asking = Asking(lambda: ("default",), 0)
    assert fitting([asking, *asks]) == [asking, *asks[:MOST_SETTLEMENTS]]
    asks[2].set_apart()
    assert fitting([*asks]) == asks[:2]
    assert fitting([*asks[2:]]) == [asks[2]]


def test_a_forked_child_settles_what_it_was_given(
    broker: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis, send: Callable[[int], list[str]]
) -> None:
    sent = send(2)
    work = Exchanged(broker, redis_client, ("default",), 2)
    assert work.ask() == 2
    first, second = work.begun()
    locks: list[threading.Lock] = [each._lock for each in (work.held, work.permits)]  # pyright: ignore[reportPrivateUsage]
    locks.append(work.exchange._dealing)  # pyright: ignore[reportPrivateUsage]
    for lock in locks:  # as when another thread is just there
        lock.acquire()
    has_settled = holds_in_child(lambda: work.exchange.settle(settling(first)).code is Code.OK)
    for lock in locks:
        lock.release()
    assert has_settled
    assert work.exchange.settle(settling(second)).code is Code.OK
    assert states(queue, sent) == [State.COMPLETED] * 2
