"""The way of a script's call to the server and back, without what a general client does around each command.

In the flow: `Scripts` packs a call once and sends it here. Connections come from the client's pool and are kept between
calls, so that a call takes no lock, no look at the socket and no second packing. One that fails is given back to its
pool, closed, and so are the idle ones, which the same failure may have struck. If the process dies here, the request
token tells a repeated call from a new one.
"""

import os
from collections import deque
from typing import Any, Final, cast

import redis
from redis.connection import ConnectionInterface

Argument = str | bytes | int | float
SHARE_OF_POOL: Final = 2
"""At most one in so many of a pool's connections is kept here: its other users need some."""
_ON_POOL: Final = "_bandmaster_idle"


def packed(arguments: tuple[Argument, ...]) -> bytes:
    """Arguments as they go over the wire."""
    parts: list[bytes] = []
    for argument in arguments:
        if isinstance(argument, str):
            data = argument.encode()
        elif isinstance(argument, bytes):
            data = argument
        else:
            data = b"%d" % argument if isinstance(argument, int) else repr(argument).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


class _Idle:
    """Connections that are kept between calls, with the process that opened them."""

    def __init__(self) -> None:
        self.process_id = os.getpid()
        self.connections: deque[ConnectionInterface] = deque()


class Wire:
    """Connections of one client. Safe to share between threads and across forks."""

    def __init__(self, client: "redis.Redis") -> None:
        self._client = client
        pool: Any = client.connection_pool
        is_plain = type(client) is redis.Redis and type(pool) is redis.ConnectionPool
        self.is_direct: Final = is_plain and pool.connection_kwargs.get("credential_provider") is None
        """Whether commands may be sent here: a client or a pool of another kind means something by its own ways, and
        credentials that change are renewed when a connection comes back to its pool."""

    @property
    def _pool(self) -> Any:
        # The client's, whichever that is by now.
        return self._client.connection_pool

    @property
    def _idle(self) -> _Idle:
        # One for all that use this pool, and as long-lived as it: each queue object of an application comes here.
        pool = self._pool
        if _ON_POOL not in pool.__dict__:
            pool.__dict__.setdefault(_ON_POOL, _Idle())
        return cast("_Idle", pool.__dict__[_ON_POOL])

    def ask(self, command: bytes) -> Any:
        """Send a packed command and answer what the server answers.

        Raises:
            redis.RedisError: As the client would.
        """
        connection = self.take()
        try:
            connection.send_packed_command((command,))
            answer = connection.read_response()
        except redis.ResponseError:
            self.keep(connection)
            raise
        except BaseException:
            self.drop(connection)
            raise
        self.keep(connection)
        return answer

    def take(self) -> ConnectionInterface:
        """A connection to send on; it must be kept or dropped."""
        idle = self._idle
        if idle.process_id != os.getpid():
            # The parent's sockets stay the parent's: neither used here nor closed.
            idle.connections, idle.process_id = deque(), os.getpid()
        try:
            return idle.connections.pop()
        except IndexError:
            return self._pool.get_connection()

    def keep(self, connection: ConnectionInterface) -> None:
        """All that was sent on it was answered: the next call may use it."""
        idle, pool = self._idle.connections, self._pool
        if len(idle) >= pool.max_connections // SHARE_OF_POOL or connection.should_reconnect():
            pool.release(connection)
        else:
            idle.append(connection)

    def drop(self, connection: ConnectionInterface) -> None:
        """Close a connection that failed or whose answers nobody reads, and all that are idle."""
        idle, pool = self._idle.connections, self._pool
        while True:
            connection.disconnect()
            pool.release(connection)
            try:
                connection = idle.pop()
            except IndexError:
                return
