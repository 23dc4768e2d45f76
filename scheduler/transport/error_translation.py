"""Translates redis-py exceptions into `QueueUnavailable`.

In the flow: `Scripts.repeat` calls this when a command failed and is not sent again. A command that got no answer may
or may not have taken effect.
"""

import redis
from redis.exceptions import ClusterCrossSlotError, MovedError, OutOfMemoryError

from ..model.errors import QueueUnavailable, UnknownFormat

FORMAT_CODE = "FORMAT "
"""The beginning of the error by which scripts refuse a data format, from `include/settings.lua`."""


def unavailable(error: redis.RedisError) -> QueueUnavailable:
    """Return the QueueUnavailable that says why the server did not answer or refused. It refuses if it has no memory
    left, is a replica, or a key has a value of a wrong type.
    """
    if isinstance(error, redis.ConnectionError | redis.TimeoutError):
        return QueueUnavailable(f"Redis did not answer: {error}")
    if isinstance(error, OutOfMemoryError):
        return QueueUnavailable("Redis has no memory left (maxmemory) and refused the write")
    if str(error).startswith(FORMAT_CODE):
        return UnknownFormat(str(error).removeprefix(FORMAT_CODE))
    if isinstance(error, MovedError):
        return QueueUnavailable(
            f"this node of a Cluster does not have the queue's slot {error.slot_id}: name the one that has it, "
            f"{error.host}:{error.port}"
        )
    if isinstance(error, ClusterCrossSlotError) or "same slot" in str(error) or "non local key" in str(error):
        return QueueUnavailable(
            f"a queue is in one slot of a Cluster: give redis.prefix and redis.dramatiq_namespace one hash tag, like "
            f"{{bandmaster}}:exec_queue ({error})"
        )
    return QueueUnavailable(f"Redis refused: {error}")
