"""Renewing leases: any number, an answer each, in order."""

import redis
from defects.contrast import event

from bandmaster.scheduler.engine.grants import Renewal
from bandmaster.scheduler.queue import ExecutionQueueService

MANY = 10_000
"""More than one call could take: Lua passes on some eight thousand values at most."""


def test_any_number_of_leases_is_renewed_in_order(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("held"))
    queue.try_schedule()
    unknown = [(f"unknown-{number}", 1, "") for number in range(MANY)]
    renewals = queue.transitions.renew([*unknown, ("held", 1, ""), ("held", 2, "")])
    assert renewals == [*[Renewal.STALE] * MANY, Renewal.RENEWED, Renewal.STALE]


def test_no_leases_need_no_call() -> None:
    nowhere = redis.Redis(unix_socket_path="/nonexistent/redis.sock")
    assert ExecutionQueueService(nowhere).transitions.renew([]) == []
