"""Dead letters, and what waits in a lane that no worker asks for: made as workers would, by the engine."""

import redis

from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from page.served_page import Installation

LANE = "billing"


def make_dead(
    installation: Installation, *execution_ids: str, user: str = "ann", action: str = "fragile", lane: str = ""
) -> None:
    """Make executions that were given up, in one lane or in a lane each.

    What runs again waits in its letter's lane, and there it would be granted before the next.
    """
    with redis.Redis.from_url(f"unix://{installation.folder}/var/redis/redis.sock") as client:
        for execution_id in execution_ids:
            queue = ExecutionQueueService(client).on(lane or f"{LANE}-{execution_id}")
            queue.enqueue(
                {"execution_id": execution_id, "command": ["true"], "action": action, "metadata": {"user_id": user}}
            )
            assert queue.try_schedule() is not None
            died = Release(execution_id, 1, State.FAILED, reason="crashed", result=b'{"exit_code": 1}', dead=True)
            queue.transitions.settle(died)
