"""Cancels an execution, and has its pod deleted at once if it runs in one.

In the flow: the transition is made in Redis, so what waits ends although no worker runs. What runs in a pod is
CANCELLING then, and keeps its slot until the pod is gone; a worker is sent the pod's name. If that message, or this
process, is lost in between, the next round of `watch_completions` deletes the pod all the same.
"""

from typing import Final

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from ...scheduler.engine.grants import Cancellation
from ...scheduler.model.states import State
from ...scheduler.queue import ExecutionQueueService

# Sent by name, as the scheduler process sends `try_schedule`: the actors' package would connect and log as a worker.
DELETE_POD: Final = "delete_pod"
LIFECYCLE_QUEUE: Final = "lifecycle"


def cancel(queue: ExecutionQueueService, broker: RedisBroker, execution_id: str, *, reason: str) -> Cancellation:
    """End it if it waits; ask it to end if it runs.

    Args:
        queue: Where it is.
        broker: Of the workers that run the lifecycle's actors.
        execution_id: Which.
        reason: Why; kept in its record.

    Raises:
        QueueUnavailable: If Redis did not answer.
    """
    cancelled = queue.transitions.cancel(execution_id, reason=reason)
    if cancelled.state is State.CANCELLING and cancelled.pod is not None:
        broker.enqueue(
            dramatiq.Message[None](
                queue_name=LIFECYCLE_QUEUE,
                actor_name=DELETE_POD,
                args=(cancelled.pod, cancelled.pod_uid),
                kwargs={},
                options={},
            )
        )
    return cancelled
