"""A call that waits for a wake token: made the moment one comes, made all the same when none does."""

import threading
from collections.abc import Callable

import pytest
import redis
from blocked import blocked_clients, wait_until_somebody_waits
from defects.contrast import event
from proxy import proxy_before

from bandmaster.scheduler.errors import QueueUnavailable
from bandmaster.scheduler.grants import read_admission
from bandmaster.scheduler.queue import DEFAULT_LANE, ExecutionQueueService
from bandmaster.scheduler.scripts import Call
from bandmaster.scheduler.waking import when_woken
from waiting import wait_until

LONG_SECONDS = 2.0


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    return ExecutionQueueService(redis_client)


def admission(queue: ExecutionQueueService, count: int = 1) -> Call:
    return queue.transitions.prepare_admit(DEFAULT_LANE, count, lease_ms=30_000)


def woken(queue: ExecutionQueueService, call: Call, seconds: float) -> tuple[bytes | None, list[str]]:
    token, answer = when_woken(queue.scripts, DEFAULT_LANE, seconds, call)
    return token, [grant.execution_id for grant in read_admission(answer).grants]


def when_somebody_waits(client: redis.Redis, act: Callable[[], object]) -> threading.Thread:
    def wait_and_act() -> None:
        wait_until_somebody_waits(client)
        act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def test_what_wakes_it_is_admitted(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    other = when_somebody_waits(redis_client, lambda: queue.enqueue(event("x")))
    assert woken(queue, admission(queue), LONG_SECONDS) == (b"1", ["x"])
    other.join()


def test_both_commands_are_on_their_way_before_a_token_comes(redis_url: str, redis_client: redis.Redis) -> None:
    sent: list[bytes] = []

    def note(command: list[bytes]) -> bool:
        sent.append(command[0])
        return False

    def enqueue_when_both_came() -> None:
        wait_until(lambda: sent[-2:] == [b"BLPOP", b"FCALL"], what="both commands")
        near.enqueue(event("x"))

    near = ExecutionQueueService(redis_client)
    with proxy_before(redis_url) as proxy, redis.Redis.from_url(proxy.url) as client:
        far = ExecutionQueueService(client)
        proxy.lose_reply(note)
        other = threading.Thread(target=enqueue_when_both_came)
        other.start()
        assert woken(far, admission(far), LONG_SECONDS) == (b"1", ["x"])
        other.join()


def test_without_a_token_it_is_made_when_the_time_is_over(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.enqueue(event("x"))
    redis_client.delete(queue.scripts.keys.wake(DEFAULT_LANE))  # lost
    assert woken(queue, admission(queue), 0.05) == (None, ["x"])


def test_a_server_that_forgot_the_scripts_meanwhile_is_told_them_again(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.enqueue(event("x"))
    redis_client.delete(queue.scripts.keys.wake(DEFAULT_LANE))
    other = when_somebody_waits(redis_client, lambda: redis_client.function_flush("SYNC"))
    assert woken(queue, admission(queue), 0.5) == (None, ["x"])
    other.join()


def test_a_client_of_another_kind_waits_too(redis_url: str, redis_client: redis.Redis) -> None:
    with redis.Redis.from_pool(redis.BlockingConnectionPool.from_url(redis_url)) as client:
        queue = ExecutionQueueService(client)
        assert not queue.scripts.wire.is_direct
        other = when_somebody_waits(redis_client, lambda: queue.enqueue(event("x")))
        assert woken(queue, admission(queue), LONG_SECONDS) == (b"1", ["x"])
        other.join()


def test_a_wait_that_the_server_refuses_is_reported_and_loses_no_grant(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.enqueue(event("x"))
    redis_client.delete(queue.scripts.keys.wake(DEFAULT_LANE))
    call = admission(queue)

    def refuse() -> None:
        for waiting in blocked_clients(redis_client):
            redis_client.client_unblock(waiting, error=True)

    other = when_somebody_waits(redis_client, refuse)
    with pytest.raises(QueueUnavailable, match="UNBLOCKED"):
        when_woken(queue.scripts, DEFAULT_LANE, LONG_SECONDS, call)
    other.join()
    assert [grant.execution_id for grant in read_admission(call.run()).grants] == ["x"]
    assert queue.get_queue_status()["active_count"] == 1


def test_a_connection_that_is_lost_while_it_waits_is_no_failure(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    def enqueue_and_cut() -> None:
        waiting = blocked_clients(redis_client)
        queue.enqueue(event("x"))
        for each in waiting:
            redis_client.client_kill_filter(_id=str(each))

    other = when_somebody_waits(redis_client, enqueue_and_cut)
    token, answer = when_woken(queue.scripts, "another", LONG_SECONDS, admission(queue))
    other.join()
    assert token is None
    assert [grant.execution_id for grant in read_admission(answer).grants] == ["x"]


def test_a_connection_that_the_server_closed_before_is_no_failure(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.enqueue(event("x"))  # leaves a connection for the next call
    redis_client.client_kill_filter(skipme=True)
    assert woken(queue, admission(queue), LONG_SECONDS)[1] == ["x"]


def test_only_its_own_tokens_leave_a_lane_that_became_empty(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.enqueue(event("x"))
    redis_client.rpush(queue.scripts.keys.wake(DEFAULT_LANE), "list", "list")
    assert woken(queue, admission(queue), LONG_SECONDS) == (b"1", ["x"])
    assert redis_client.lrange(queue.scripts.keys.wake(DEFAULT_LANE), 0, -1) == [b"list", b"list"]
