"""Connections that are kept between calls: shared by all that use a client, replaced when they break, left some."""

from typing import Any

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.scripts import Scripts
from bandmaster.scheduler.wire import Wire, packed

QUEUES = 150
"""More than a pool has connections by default."""


def test_many_queues_on_one_client_share_its_connections(redis_client: redis.Redis) -> None:
    queues = [ExecutionQueueService(redis_client) for _ in range(QUEUES)]
    for number, queue in enumerate(queues):
        queue.enqueue(event(f"e{number}"))
    assert queues[0].get_queue_status()["queue_depth"] == QUEUES


def test_a_connection_that_the_server_closed_is_replaced(redis_client: redis.Redis, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url, client_name="soon-closed") as client:
        queue = ExecutionQueueService(client)
        queue.enqueue(event("before"))
        clients: Any = redis_client.client_list()
        for each in clients:
            if each["name"] == "soon-closed":
                redis_client.client_kill_filter(_id=each["id"])
        queue.enqueue(event("after"))
        assert queue.views.pending(10) == ["before", "after"]


def test_a_call_that_redis_refuses_leaves_its_connection_usable(redis_client: redis.Redis) -> None:
    wire = Wire(redis_client)
    with pytest.raises(redis.ResponseError):
        wire.ask(b"*1\r\n$8\r\nNONSENSE\r\n")
    assert wire.ask(b"*2\r\n" + packed(("ECHO", "still here"))) == b"still here"


def test_a_client_of_another_kind_is_asked_in_its_own_way(redis_client: redis.Redis) -> None:
    asked: list[object] = []

    class Listening(redis.Redis):
        def execute_command(self, *args: Any, **options: Any) -> Any:
            asked.append(args[0])
            return super().execute_command(*args, **options)  # pyright: ignore[reportUnknownVariableType]

    scripts = Scripts(Listening(connection_pool=redis_client.connection_pool))
    scripts.call(scripts.script("wake", "epoch"), "")
    assert "FCALL" in asked


@pytest.mark.parametrize("argument", ["text", "ümlaut", b"\r\n\x00bytes", "", 0, -7, 2**60, 0.5])
def test_arguments_arrive_as_redis_py_sends_them(redis_client: redis.Redis, argument: str | bytes | float) -> None:
    sent = Wire(redis_client).ask(b"*2\r\n" + packed(("ECHO", argument)))
    assert sent == redis_client.execute_command("ECHO", argument)
