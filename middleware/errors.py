"""The errors of Dramatiq's side, beside those of the engine.

::

    BandmasterError
    ├── MiddlewareMissing      a worker cannot boot: one middleware needs another
    ├── StaleGrant
    │   └── LostGrant          a hook would send on what came of a grant that was lost
    └── QueueUnavailable
        └── SettlementPending  also Dramatiq's ConnectionClosed: it acknowledges again in a while

All are `MiddlewareError`s: any other exception in a hook would be logged and ignored. `UNAVAILABLE` are those that mean
that Redis cannot be reached or cannot write now, whichever layer says so.
"""

from typing import Final

import redis
from dramatiq.errors import ConnectionClosed
from dramatiq.middleware import MiddlewareError
from redis.exceptions import ClusterDownError, OutOfMemoryError, ReadOnlyError, TryAgainError

from ..scheduler.errors import BandmasterError, QueueUnavailable, StaleGrant

UNAVAILABLE: Final = (
    QueueUnavailable,
    redis.ConnectionError,
    redis.TimeoutError,  # no ConnectionError in redis-py
    ReadOnlyError,  # a replica, in the middle of a failover
    ClusterDownError,
    TryAgainError,
    OutOfMemoryError,
)


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
