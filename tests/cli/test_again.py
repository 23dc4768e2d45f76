"""A dead letter that two operators try again at the same time is accepted once."""

import pytest
import redis
from defects.contrast import event

from bandmaster.cli.again import accept_again
from bandmaster.cli.opening import Opened
from bandmaster.configs.settings import Settings
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
    opened = Opened(Settings(), redis_client, queue)
    first = accept_again(opened, "letter")
    with pytest.raises(DuplicateExecution):
        accept_again(opened, "letter")
    assert queue.views.members(queue.lane) == {first.execution_id}
