"""A dead letter that two operators try again at the same time is accepted once."""

import pytest
import redis
from defects.contrast import event
from dramatiq.brokers.redis import RedisBroker

from bandmaster.middleware.operations.dead_letters import accept_again
from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService


def test_a_letter_that_two_try_again_at_once_is_accepted_once(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("letter"))
    grant = queue.try_schedule()
    assert grant is not None
    queue.transitions.release("letter", None, State.FAILED, reason="error", dead=True)
    assert queue.views.dead() == ["letter"]
    broker = RedisBroker(client=redis_client, middleware=[])
    first = accept_again(queue, broker, "letter")
    with pytest.raises(DuplicateExecution):
        accept_again(queue, broker, "letter")
    assert queue.views.members(queue.lane) == {first.execution_id}
