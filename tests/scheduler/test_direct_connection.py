"""Connections that are kept between calls: the queue's own, shared by all that use a client, replaced if they break."""

import gc
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dramatiq
import pytest
import redis
from defects.contrast import event

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.direct_connection import DirectConnections, packed
from bandmaster.scheduler.transport.scripts import Scripts
from waiting import wait_until

QUEUES = 150
"""More than a pool has connections by default."""
HOLDERS = 100
"""As many as it has."""
THREADS = 8
NAME = "of-this-test"


def connected(client: redis.Redis) -> set[str]:
    """The connections of this test's clients, as the server knows them."""
    clients: Any = client.client_list()
    return {each["id"] for each in clients if each["name"] == NAME}


def test_many_queues_on_one_client_share_its_connections(redis_client: redis.Redis) -> None:
    queues = [ExecutionQueueService(redis_client) for _ in range(QUEUES)]
    for number, queue in enumerate(queues):
        queue.enqueue(event(f"e{number}"))
    assert queues[0].get_queue_status()["queue_depth"] == QUEUES


def test_a_connection_that_the_server_closed_is_replaced(redis_client: redis.Redis, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url, client_name=NAME) as client:
        queue = ExecutionQueueService(client)
        queue.enqueue(event("before"))
        for each in connected(redis_client):
            redis_client.client_kill_filter(_id=each)
        queue.enqueue(event("after"))
        assert queue.views.pending(10) == ["before", "after"]


def test_calls_need_no_connection_of_a_pool_that_others_hold(redis_client: redis.Redis, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        broker = BandedRedisBroker(client=client, middleware=[])

        @dramatiq.actor(broker=broker, band="HIGH")
        def gated() -> None:
            """Never run here."""

        held = [client.connection_pool.get_connection() for _ in range(HOLDERS)]
        with pytest.raises(redis.ConnectionError, match="Too many connections"):
            client.ping()
        gated.send()
        gated.send_with_options(delay=60_000)
        broker.queue.enqueue(event("x"))
        broker.queue.enqueue_many([event("y"), event("z")])
        assert broker.queue.views.meta("x")["state"] == "PENDING"
        assert broker.queue.get_queue_status()["queue_depth"] == 3
        assert broker.queue.on("default").get_queue_status()["queue_depth"] == 1
        for connection in held:
            client.connection_pool.release(connection)
        broker.close()


def test_threads_have_as_many_connections_as_they_use_at_once(redis_client: redis.Redis, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url, client_name=NAME, max_connections=1) as client:
        queue = ExecutionQueueService(client)
        # The first call loads the library, on a connection of its own.
        queue.enqueue(event("first"))
        with ThreadPoolExecutor(THREADS) as threads:
            for number in range(50 * THREADS):
                threads.submit(queue.update_priority, "first", number % 5)
        assert 2 <= len(connected(redis_client)) <= THREADS + 1
        queue.close()


def test_threads_that_send_share_their_calls(redis_client: redis.Redis, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url, client_name=NAME) as client:
        queue = ExecutionQueueService(client)
        queue.enqueue(event("first"))
        of_one = connected(redis_client)
        with ThreadPoolExecutor(THREADS) as threads:
            for number in range(10 * THREADS):
                threads.submit(queue.enqueue, event(f"e{number}"))
        assert connected(redis_client) == of_one
        assert queue.get_queue_status()["queue_depth"] == 1 + 10 * THREADS
        queue.close()


def test_a_forked_child_opens_connections_of_its_own_and_leaves_those_of_its_parent(
    redis_client: redis.Redis, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url, client_name=NAME) as client:
        queue = ExecutionQueueService(client)
        queue.enqueue(event("before"))
        queue.views.meta("before")
        of_the_parent = connected(redis_client)
        child = os.fork()
        if child == 0:  # nothing of the test runner may run in here
            code = 1
            try:
                queue.enqueue(event("of-the-child"))
                queue.views.meta("of-the-child")
                code = int(not len(connected(queue.scripts.client)) > len(of_the_parent))
                queue.close()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert queue.enqueue(event("after")) == 2
        assert queue.views.meta("of-the-child")["state"] == "PENDING"
        assert connected(redis_client) == of_the_parent
        queue.close()


@pytest.mark.parametrize("how", ["closed", "forgotten"])
def test_a_queue_leaves_no_connection_behind(how: str, redis_client: redis.Redis, redis_url: str) -> None:
    client = redis.Redis.from_url(redis_url, client_name=NAME)
    broker = BandedRedisBroker(client=client, middleware=[])
    broker.queue.enqueue(event("x"))
    broker.queue.views.meta("x")
    assert connected(redis_client)
    if how == "closed":
        broker.close()
        wait_until(lambda: not connected(redis_client), what="the end of its connections")
        assert broker.queue.enqueue(event("y")) == 1, "whoever goes on opens another"
    # No ResourceWarning either: warnings are errors here.
    del client, broker
    gc.collect()
    wait_until(lambda: not connected(redis_client), what="the end of its connections")


def test_a_client_that_decodes_its_replies_shares_them_too(redis_client: redis.Redis, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url, client_name=NAME, decode_responses=True) as client:
        queues = [ExecutionQueueService(client) for _ in range(3)]
        for number, queue in enumerate(queues):
            queue.enqueue(event(f"e{number}"))
            assert queue.views.meta(f"e{number}")["state"] == "PENDING"
        assert len(connected(redis_client)) == 2, "one for scripts, one for plain commands"
        queues[0].close()


def test_a_call_that_redis_refuses_leaves_its_connection_usable(redis_client: redis.Redis) -> None:
    connections = DirectConnections(redis_client, 5)
    with pytest.raises(redis.ResponseError):
        connections.ask(b"*1\r\n$8\r\nNONSENSE\r\n")
    assert connections.ask(packed(("ECHO", "still here"))) == b"still here"


def test_a_client_of_another_kind_is_asked_in_its_own_way(redis_client: redis.Redis) -> None:
    asked: list[object] = []

    class Listening(redis.Redis):
        def execute_command(self, *args: Any, **options: Any) -> Any:
            asked.append(args[0])
            return super().execute_command(*args, **options)  # pyright: ignore[reportUnknownVariableType]

    scripts = Scripts(Listening(connection_pool=redis_client.connection_pool))
    scripts.call(scripts.script("wake", "epoch"), "")
    assert "FCALL" in asked


def test_arguments_arrive_as_redis_py_sends_them(redis_client: redis.Redis, subtests: pytest.Subtests) -> None:
    for argument in ["text", "ümlaut", b"\r\n\x00bytes", "", 0, -7, 2**60, 0.5]:
        with subtests.test(argument=argument):
            sent = DirectConnections(redis_client, 5).ask(packed(("ECHO", argument)))
            assert sent == redis_client.execute_command("ECHO", argument)
