"""Turns any error in a hook into one that stops the message, since Dramatiq ignores ordinary errors of hooks.

In the flow: wraps everything that `PriorityBands` does before a message is enqueued. Nothing is kept here.
"""

from types import TracebackType
from typing import Any

import redis
from dramatiq import Message
from dramatiq.middleware import MiddlewareError

from ...configs.logger import Logger
from ...scheduler.model.errors import InvalidRequest, QueueUnavailable

log = Logger(__name__)


class FailingClosed:
    """Lets out only `MiddlewareError`s: Dramatiq would log any other error and treat the message as sent."""

    __slots__ = ("_message",)

    def __init__(self, message: "Message[Any]") -> None:
        self._message = message

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is None or isinstance(error, MiddlewareError) or not isinstance(error, Exception):
            return
        if isinstance(error, redis.RedisError):
            raise QueueUnavailable(f"Redis refused: {error}") from error
        name = type(error).__name__  # the error's text may contain a part of the payload
        message = self._message
        log.error("message_not_parked", message_id=message.message_id, actor=message.actor_name, error=name)
        raise InvalidRequest("message", f"it could not be parked: {name}") from error
