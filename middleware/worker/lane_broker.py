"""``LaneBroker``: the base class through which consumers and groups use `BandedRedisBroker` and its parts.

In the flow: users name `BandedRedisBroker`, which builds the parts; consumers reach them through this class. Reads of
Dramatiq's own lists take turns here, so that many queues do not use up the client's connection pool.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, cast

from dramatiq.brokers.redis import RedisBroker
from dramatiq.common import q_name

from ...scheduler.queue import ExecutionQueueService
from ..bands import PriorityBands
from ..pushing import DEFAULT_PRIORITY, message_of_task, push
from .dramatiq_lists import DramatiqLists
from .lane_bounds import LaneBounds
from .worker_process import LaneProcess


class LaneBroker(RedisBroker):
    """A broker whose lanes are pulled."""

    queue: ExecutionQueueService
    bands: PriorityBands
    bounds: LaneBounds
    lists: DramatiqLists
    process: LaneProcess
    shard: str
    """The name of the server among several."""
    plain_client: Any
    """A client whose replies are bytes. It is untyped, since redis-py types each reply as a union with an awaitable."""

    def _dispatch(self, command: str) -> Callable[..., Any]:
        dispatch: Callable[..., Any] = cast("Any", super())._dispatch(command)

        def fetch(queue_name: str, *arguments: str | int) -> Any:
            with self.turn(queue_name) as has_turn:
                return dispatch(queue_name, *arguments) if has_turn else []

        return fetch if command == "fetch" else dispatch

    def turn(self, queue_name: str) -> AbstractContextManager[bool]:
        """A context for a consumer's turn to read the list of a queue, or of its delay queue."""
        return self.lists.turn(of_lane=q_name(queue_name) in self.bands.gated.lanes)

    def command(self, name: str, queue_name: str, *arguments: str | int) -> Any:
        """Run a command of Dramatiq's own script on a list, without taking a turn: a caller that fetches has one."""
        return cast("Any", super())._dispatch(name)(queue_name, *arguments)

    def do_qsize(self, queue_name: str) -> int:
        """Return how many messages a queue has, in its list, its delay queue and its lane."""
        return int(self.command("qsize", queue_name)) + self.queue.views.lane_size(q_name(queue_name))

    def push_task(
        self,
        queue: str,
        payload: Mapping[str, Any],
        priority: str | int = DEFAULT_PRIORITY,
        *,
        execution_id: str | None = None,
        scheduled_at: datetime | str | None = None,
    ) -> bool:
        """`bandmaster.push_task` on this broker."""
        message = message_of_task(queue, payload, priority, execution_id=execution_id, scheduled_at=scheduled_at)
        return push(self, message)

    def flush(self, queue_name: str) -> None:
        """Drop all messages of a queue, and remove all executions of its lane; no sender is told of an end."""
        super().flush(queue_name)
        for execution_id in self.queue.views.members(queue_name):
            self.queue.transitions.remove(execution_id, silent=True)
        self.queue.outbox.empty(queue_name)
