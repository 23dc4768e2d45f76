"""Minimal connection path for script calls: one packed FCALL, without redis-py's per-command work.

In the flow: `Scripts` packs a call once and sends it here. The connections have the class and options of the user's
client, but not its pool, which other code may exhaust, and not its retries: `Scripts.repeat` alone tries again. They
are kept between calls, so that a call needs no lock, no check of the socket and no second packing. A connection that
fails is closed, and so are the idle ones, since the same failure may have broken them. If the process dies here, the
request token tells a repeated call from a new one.
"""

import os
import weakref
from collections import deque
from contextlib import suppress
from typing import Any, Final, cast

import hiredis
import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection
from redis.retry import Retry

from ..model.errors import InvalidRequest, shown
from .deadline import bounded

Argument = str | bytes | int | float
STEP_SHARE: Final = 0.5
"""The share of the deadline for one step, so that after a dead connection there is time to open a new one."""
_UNLIMITED: Final = 2**31
_OF_ITS_POOL: Final = ("maint", "oss_cluster_maint", "orig_")
"""Prefixes of options that a pool adds for its own use, to move its connections."""


def packed(command: tuple[Argument, ...]) -> bytes:
    """Encode a command for the wire."""
    return cast("Any", hiredis).pack_command(command)  # its stub has a type for commands of one word only


def check_client(client: object) -> None:
    """Check that the queue can work with this client.

    Raises:
        InvalidRequest: If it is for asyncio, of a cluster, or not a Redis client.
    """
    if isinstance(client, redis.Redis):
        return
    if isinstance(client, redis.asyncio.Redis | redis.asyncio.RedisCluster):
        problem = "a client for asyncio, which cannot be waited for here"
    elif isinstance(client, redis.RedisCluster):
        problem = "a client of a cluster, whose servers would each hold a part of the queue"
    else:
        problem = f"{shown(client)} is no client"
    raise InvalidRequest("redis_client", problem, allowed="a redis.Redis; from asyncio, `await actor.asend(…)`")


def readable(client: "redis.Redis") -> "redis.Redis":
    """Return the client if it leaves replies as bytes, as payloads need, else such a client of the same server."""
    pool = client.connection_pool
    options: dict[str, Any] = dict(pool.connection_kwargs)
    if not options.get("decode_responses"):
        return client
    options["decode_responses"] = False
    return redis.Redis(connection_pool=redis.ConnectionPool(connection_class=pool.connection_class, **options))


class _Connections:
    """The engine's connections for all users of one pool, with the id of the process that opened them."""

    def __init__(self, pool: Any, deadline_seconds: float) -> None:
        options: dict[str, Any] = {
            name: value for name, value in pool.connection_kwargs.items() if not name.startswith(_OF_ITS_POOL)
        }
        step_seconds = deadline_seconds * STEP_SHARE
        for name in ("socket_timeout", "socket_connect_timeout"):
            options[name] = min(options.get(name) or step_seconds, step_seconds)
        options |= {
            "retry": Retry(NoBackoff(), 0),
            "retry_on_timeout": False,
            "retry_on_error": [],
            "health_check_interval": 0,
            # Every server gives the same answers, as bytes, and no push messages come between them.
            "protocol": 2,
            "legacy_responses": True,
            "decode_responses": False,
            "encoding": "utf-8",
        }
        connections: Any = bounded(pool.connection_class)
        self.pool: Final = redis.ConnectionPool(connections, max_connections=_UNLIMITED, **options)
        self.client: Final = redis.Redis(connection_pool=self.pool)
        self.process_id = os.getpid()
        self.idle: deque[AbstractConnection] = deque()

    def close(self) -> None:
        """Close the idle connections."""
        while self.idle:
            with suppress(IndexError):  # another thread took the last one
                self.idle.pop().disconnect()
        self.pool.disconnect(inuse_connections=False)

    def open(self) -> AbstractConnection:
        """Return a new connection, which connects when the first command is sent."""
        return cast("AbstractConnection", self.pool.connection_class(**self.pool.connection_kwargs))


class DirectConnections:
    """The engine's connections to the server of one client. Safe to share between threads and across forks."""

    def __init__(self, client: "redis.Redis", deadline_seconds: float) -> None:
        check_client(client)
        self._client = client if _is_plain(client) else readable(client)
        self._deadline_seconds = deadline_seconds
        self._attribute = f"_bandmaster_{deadline_seconds!r}"
        self.is_direct: Final = _is_plain(self._client)
        """Whether calls go over the engine's own connections. They do not for a client or pool of a custom class, which
        must not be bypassed, or with a credential provider, since pools renew credentials on a connection's return."""

    @property
    def client(self) -> "redis.Redis":
        """The client for plain commands."""
        return self._connections.client if self.is_direct else self._client

    @property
    def _connections(self) -> _Connections:
        # Stored on the client's present pool, so that all queue objects on that pool share one, which lives as long
        # as the pool.
        pool: Any = self._client.connection_pool
        found: _Connections | None = pool.__dict__.get(self._attribute)
        if found is None:
            made = _Connections(pool, self._deadline_seconds)
            found = cast("_Connections", pool.__dict__.setdefault(self._attribute, made))
            if found is made:
                weakref.finalize(pool, made.close)
        return found

    def ask(self, command: bytes) -> Any:
        """Send a packed command and return the server's answer.

        Raises:
            redis.RedisError: The same errors as the client raises.
        """
        connection: Any = self.take()
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

    def take(self) -> AbstractConnection:
        """Return a connection to send on; the caller must `keep` or `drop` it."""
        connections = self._connections
        if connections.process_id != os.getpid():
            # After a fork: the parent's sockets are neither used nor shut down here.
            connections.idle, connections.process_id = deque(), os.getpid()
        try:
            return connections.idle.pop()
        except IndexError:
            return connections.open()

    def keep(self, connection: AbstractConnection) -> None:
        """Give back a connection on which every command was answered; the next call may use it."""
        self._connections.idle.append(connection)

    def drop(self, connection: AbstractConnection) -> None:
        """Close all idle connections, and this one, which failed or has answers that nobody will read."""
        connection.disconnect()
        self._connections.close()

    def close(self) -> None:
        """Close the idle connections. Calls under way keep theirs; later calls open new ones."""
        if self.is_direct:
            self._connections.close()


def _is_plain(client: "redis.Redis") -> bool:
    pool = client.connection_pool
    connections: Any = pool.connection_class
    return (
        type(client) is redis.Redis
        and type(pool) is redis.ConnectionPool
        and issubclass(connections, AbstractConnection)
        and pool.connection_kwargs.get("credential_provider") is None
    )
