"""Deadlines of threads: what bounds a thread's waits, and no longer than it should."""

import time

import redis

from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.deadline import Until


def test_a_deadline_that_an_interrupt_left_behind_bounds_nothing_once_it_is_over(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    Until(time.monotonic()).__enter__()  # an interrupt came between its end and its leaving
    assert queue.views.pending() == []
    with Until(time.monotonic() + 30):
        assert queue.views.status().queue_depth == 0
    assert queue.views.pending() == []
