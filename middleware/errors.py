"""The errors of the broker and its middleware, beside those of the engine.

::

    BandmasterError
    ├── ExecutionExpired       `get_result` raises it for an execution that waited too long
    ├── ExecutionFailed        `get_result` raises it for an execution that was given up without a result
    ├── MiddlewareMissing      a worker cannot boot: one middleware needs another
    ├── StaleGrant
    │   └── LostGrant          a hook tried to send a message after the body's grant was lost
    └── QueueUnavailable
        └── SettlementPending  also Dramatiq's ConnectionClosed, so Dramatiq repeats the acknowledgement after a pause

The errors that hooks raise are `MiddlewareError`s: Dramatiq logs and ignores any other exception of a hook.
`UNAVAILABLE` lists the errors, of any layer, that mean that Redis cannot be reached or cannot write now.
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
    """The execution was given up without a result: it was refused, or each process that ran it died."""

    def __init__(self, *, execution_id: str, reason: str, refusal: str = "") -> None:
        why = f"{reason} ({refusal})" if refusal else reason
        super().__init__(f"execution {shown(execution_id)} was given up without a result: {why}")
        self.execution_id = execution_id
        self.reason = reason


class MiddlewareMissing(BandmasterError, MiddlewareError):
    """A middleware was added without another one that it needs."""

    def __init__(self, present: str, missing: str) -> None:
        super().__init__(f"{present} needs {missing}: broker.add_middleware({missing}(redis_client))")


class LostGrant(StaleGrant, MiddlewareError):
    """A hook tried to send a message after a body whose grant was lost."""


class SettlementPending(QueueUnavailable, ConnectionClosed):
    """Redis did not answer; Dramatiq tries the acknowledgement again."""

    def __init__(self, problem: str) -> None:
        QueueUnavailable.__init__(self, problem)
        self.message = problem
