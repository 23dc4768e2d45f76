"""What redis-py raises, as the engine says it: one place, so that no caller sees the client's own errors.

In the flow: around every command that is sent to the server. Whether a command that was not answered took effect is
unknown here; calls with a request token are repeated by `scripts.py` before it comes to this.
"""

from collections.abc import Generator
from contextlib import contextmanager

import redis
from redis.exceptions import OutOfMemoryError

from .errors import QueueUnavailable


@contextmanager
def answered() -> Generator[None]:
    """Around a command.

    Raises:
        QueueUnavailable: If the server did not answer, or refused: it has no memory left, is a replica, or somebody
            wrote something else to one of the keys.
    """
    try:
        yield
    except (redis.ConnectionError, redis.TimeoutError) as error:
        raise QueueUnavailable(f"Redis did not answer: {error}") from error
    except OutOfMemoryError as error:
        raise QueueUnavailable("Redis has no memory left (maxmemory) and refused the write") from error
    except redis.ResponseError as error:
        raise QueueUnavailable(f"Redis refused: {error}") from error
