"""A hook that refuses: nothing leaves it but what stops the message.

In the flow: around all that `PriorityBands` does before a message is enqueued, since Dramatiq's hooks fail open.
Nothing is kept here.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import redis
from dramatiq import Message
from dramatiq.middleware import MiddlewareError

from ..configs.logger import Logger
from ..scheduler.errors import InvalidRequest, QueueUnavailable

log = Logger(__name__)


@contextmanager
def failing_closed(message: "Message[Any]") -> Generator[None]:
    """Let nothing out but `MiddlewareError`s: any other is logged by Dramatiq, and the message taken for sent."""
    try:
        yield
    except MiddlewareError:
        raise
    except redis.RedisError as error:
        raise QueueUnavailable(f"Redis refused: {error}") from error
    except Exception as error:
        name = type(error).__name__  # its text may be a part of the payload
        log.error("message_not_parked", message_id=message.message_id, actor=message.actor_name, error=name)
        raise InvalidRequest("message", f"it could not be parked: {name}") from error
