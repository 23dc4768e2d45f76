"""Translates redis-py exceptions into `QueueUnavailable`.

In the flow: `Scripts.repeat` comes here when a command that was sent to the server failed, and is not sent again.
Whether one that was not answered took effect is unknown here.
"""

import redis
from redis.exceptions import OutOfMemoryError

from ..model.errors import QueueUnavailable, UnknownFormat

FORMAT_CODE = "FORMAT "
"""What the scripts' refusal of a format begins with: `include/settings.lua`."""


def unavailable(error: redis.RedisError) -> QueueUnavailable:
    """Why there is no answer: the server did not give one, or refused. It has no memory left, is a replica, or somebody
    wrote something else to one of the keys.
    """
    if isinstance(error, redis.ConnectionError | redis.TimeoutError):
        return QueueUnavailable(f"Redis did not answer: {error}")
    if isinstance(error, OutOfMemoryError):
        return QueueUnavailable("Redis has no memory left (maxmemory) and refused the write")
    if str(error).startswith(FORMAT_CODE):
        return UnknownFormat(str(error).removeprefix(FORMAT_CODE))
    return QueueUnavailable(f"Redis refused: {error}")
