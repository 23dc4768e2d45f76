"""Hears through Redis in which queues items have come.

In the flow: API processes wake by it those that wait (`waking`), the ledger's process its triggers (`trigger_rounds`).
What comes while Redis is away is not heard: whoever waits looks by itself as well.
"""

import threading
from collections.abc import Callable
from typing import Any, Final

import redis
from redis.exceptions import RedisError

from ..configs.logger import Logger

_log: Final = Logger(__name__)
LOOK_SECONDS: Final = 1.0
"""After which time it looks whether it is over, and whether Redis is back."""


def hear(client: redis.Redis, channel: str, is_over: threading.Event, came: Callable[[int], None]) -> None:
    """Listen until it is over.

    Args:
        client: Of the queue's server.
        channel: The name under which it is told.
        is_over: Set when it is to end, which it does within `LOOK_SECONDS`.
        came: Is told the id of each queue in which an item has come.
    """
    while not is_over.is_set():
        try:
            subscribed: Any
            with client.pubsub(ignore_subscribe_messages=True) as subscribed:
                subscribed.subscribe(channel)
                while not is_over.is_set():
                    message: Any = subscribed.get_message(timeout=LOOK_SECONDS)
                    if message is not None and message["data"].isdigit():
                        came(int(message["data"]))
        except RedisError as error:
            _log.debug("items_not_heard", problem=str(error))
            is_over.wait(LOOK_SECONDS)
