"""The errors of Dramatiq's side, beside those of the engine.

::

    BandmasterError
    ├── ExecutionExpired       what `get_result` tells of one that waited too long
    ├── ExecutionFailed        likewise of one that was given up without a result
    ├── MiddlewareMissing      a worker cannot boot: one middleware needs another
    ├── StaleGrant
    │   └── LostGrant          a hook would send on what came of a grant that was lost
    └── QueueUnavailable
        └── SettlementPending  also Dramatiq's ConnectionClosed: it acknowledges again in a while

Those that a hook raises are `MiddlewareError`s: any other exception there would be logged and ignored. `UNAVAILABLE`
are those that mean that Redis cannot be reached or cannot write now, whichever layer says so.
"""

from typing import Final

import redis
from dramatiq.errors import ConnectionClosed
from dramatiq.middleware import MiddlewareError
from redis.exceptions import ClusterDownError, OutOfMemoryError, ReadOnlyError, TryAgainError

from ..scheduler.model.errors import BandmasterError, QueueUnavailable, StaleGrant, shown

UNAVAILABLE: Final = (
    QueueUnavailable,
    redis.ConnectionError,
    redis.TimeoutError,  # no ConnectionError in redis-py
    ReadOnlyError,  # a replica, in the middle of a failover
    ClusterDownError,
    TryAgainError,
    OutOfMemoryError,
)


class ExecutionExpired(BandmasterError):
    """The execution waited longer than it may, and never ran."""

    def __init__(self, *, execution_id: str) -> None:
        super().__init__(f"execution {shown(execution_id)} expired: it waited longer than it may; send it again")
        self.execution_id = execution_id


class ExecutionFailed(BandmasterError):
    """The execution was given up without a result: it was refused, or whatever ran it died each time."""

    def __init__(self, *, execution_id: str, reason: str) -> None:
        super().__init__(f"execution {shown(execution_id)} was given up without a result: {reason}")
        self.execution_id = execution_id
        self.reason = reason


class MiddlewareMissing(BandmasterError, MiddlewareError):
    """A middleware was added without the other that it needs."""

    def __init__(self, present: str, missing: str) -> None:
        super().__init__(f"{present} needs {missing}: broker.add_middleware({missing}(redis_client))")


class LostGrant(StaleGrant, MiddlewareError):
    """What a body did under a grant that was lost is not sent on."""


class SettlementPending(QueueUnavailable, ConnectionClosed):
    """Redis did not answer; Dramatiq tries the acknowledgement again."""

    def __init__(self, problem: str) -> None:
        QueueUnavailable.__init__(self, problem)
        self.message = problem
