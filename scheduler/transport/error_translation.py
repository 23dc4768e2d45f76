"""Translates redis-py exceptions into `QueueUnavailable`.

In the flow: `Scripts.repeat` calls this when a command failed and is not sent again. A command that got no answer may
or may not have taken effect.
"""

import redis
from redis.exceptions import OutOfMemoryError

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
    return QueueUnavailable(f"Redis refused: {error}")
