"""Waits for the first element of some lists, as long as a client's connections allow, and to the millisecond.

A server ends a blocking command at its next turn of the clock only, by default ten times a second (`hz`). Who has to
act at a certain time, as when a rate opens a gate, therefore ends its wait itself, over another connection. If the
process dies here, an element that was popped is lost: callers repeat their look within a second.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import redis

SOCKET_TIMEOUT_SECONDS: Final = 5.0
"""Assumed for a client that has no socket timeout."""
EXACT_BELOW_SECONDS: Final = 1.0
"""Longer waits are for nothing in particular."""
_LATE_SECONDS: Final = 0.2
"""If the wait cannot be ended from here, the server ends it so much later."""


def blocking_seconds(client: "redis.Redis", seconds: float) -> float:
    """Return how long a blocking command may wait without running into the socket timeout."""
    timeout: float | None = client.connection_pool.connection_kwargs.get("socket_timeout")
    return min(seconds, (timeout or SOCKET_TIMEOUT_SECONDS) / 2)


def pop_first(client: "redis.Redis", lists: Sequence[str], seconds: float) -> "tuple[bytes, bytes] | None":
    """Take the first element of the first list that has one; wait for it, at most so long.

    Returns:
        The list and the element; None if there was none.

    Raises:
        redis.RedisError: If the server did not answer.
    """
    longest_seconds = blocking_seconds(client, seconds)
    if seconds >= EXACT_BELOW_SECONDS:
        popped: Any = client.blpop(list(lists), timeout=longest_seconds)
    else:
        popped = _pop_in_time(client, lists, longest_seconds)
    return None if popped is None else (popped[0], popped[1])


def _pop_in_time(client: "redis.Redis", lists: Sequence[str], seconds: float) -> Any:
    pool: Any = client.connection_pool
    connection = pool.get_connection()
    try:
        wait = ("BLPOP", *lists, seconds + _LATE_SECONDS)
        connection.send_packed_command(connection.pack_commands([("CLIENT", "ID"), wait]))
        client_id = connection.read_response()
        if not connection.can_read(timeout=seconds):
            with suppress(redis.RedisError):  # it may not do that, or has no other connection: the server ends the wait
                client.client_unblock(client_id)
        return connection.read_response()
    except BaseException:
        connection.disconnect()
        raise
    finally:
        pool.release(connection)
