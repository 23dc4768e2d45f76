"""What the tests of outboxes do: executions of one lane end with no body there, and a worker of the lane collects."""

import redis

from bandmaster.scheduler.engine.outbox import UntoldEnd
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

LANE = "mail"
TAKEN_MS = 60_000


def park(queue: ExecutionQueueService, name: str, lane: str = LANE) -> None:
    queue.transitions.park(Candidate(name, lane, 2, "send_mail", message=f"message of {name}".encode()))


def start(queue: ExecutionQueueService, lease_ms: int = 30_000) -> None:
    assert len(queue.transitions.admit((LANE,), 1, lease_ms=lease_ms).grants) == 1


def collect(queue: ExecutionQueueService, count: int = 10, taken_ms: int = TAKEN_MS) -> list[UntoldEnd]:
    return queue.outbox.collect(LANE, count, taken_ms=taken_ms)


def let_a_millisecond_pass(queue: ExecutionQueueService) -> None:
    began_ms = queue.views.server_time_ms()
    wait_until(lambda: queue.views.server_time_ms() > began_ms, what="a millisecond")


def is_said(queue: ExecutionQueueService, lane: str = LANE) -> bool:
    """What a consumer is told by its next call."""
    return queue.transitions.admit((lane,), 0, consumer=True).untold


def lose_each_lease(queue: ExecutionQueueService) -> None:
    queue.controls.change_setting("max_crashes", 0)
    start(queue, lease_ms=1)
    wait_until(queue.maintenance.reap, what="the end of the lease")


def cancel_many(queue: ExecutionQueueService, *names: str) -> None:
    for name in names:
        park(queue, name)
        queue.cancel(name)
        let_a_millisecond_pass(queue)


def run_out(client: redis.Redis, name: str) -> None:
    """Its record's time is over, while the ends of others keep the outbox."""
    client.delete(*(f"exec_queue:{kind}:{name}" for kind in ("meta", "message", "result", "end")))


def left_in_outbox(client: redis.Redis) -> list[bytes]:
    return client.zrange(f"exec_queue:lane:{LANE}:outbox", 0, -1)  # type: ignore[return-value]
