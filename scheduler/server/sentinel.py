"""Connections that ask Sentinel for the primary each time they connect.

In the flow: `client_of` makes a client with such connections for ``redis+sentinel://host,host/service/db``. The
engine's own connections have the same class, so they find the new primary after a failover, too. While there is no
primary, connecting fails as it does for a server that is down, and `Scripts.repeat` tries again. A primary that became
a replica refuses writes; this is treated as a broken connection. Acknowledged writes that a failover loses stay lost.
"""

from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import unquote, urlsplit

import redis
import redis.connection
from redis.backoff import NoBackoff
from redis.connection import Connection, SSLConnection
from redis.exceptions import ReadOnlyError
from redis.retry import Retry

from ..transport.deadline import bounded

SCHEMES: Final = {"redis+sentinel": "redis", "rediss+sentinel": "rediss"}
"""URL scheme → the scheme for the servers and the sentinels themselves."""
DEFAULT_PORT: Final = 26_379
ANSWER_SECONDS: Final = 1.0
"""How long one sentinel may take to connect, and again to answer, before the next one is asked."""
_OF_SENTINELS: Final = "sentinel_"
"""The prefix of parameters for the sentinels: ``sentinel_username``, ``sentinel_password``."""


_BY_DEFAULT: Final[dict[str, Any]] = {
    "socket_timeout": 5.0,
    "socket_connect_timeout": 5.0,
    "retry": Retry(NoBackoff(), 0),
    "protocol": 2,
}


@dataclass(frozen=True, slots=True)
class _Address:
    host: str
    port: int


class Sentinels:
    """The sentinels that watch one service. Safe to share between threads."""

    def __init__(self, addresses: list[_Address], service: str, **options: Any) -> None:
        kind: Any = bounded(SSLConnection if options.pop("tls") else Connection)
        self._service = service
        self._clients: list[Any] = [
            redis.Redis(
                connection_pool=redis.ConnectionPool(
                    connection_class=kind,
                    host=address.host,
                    port=address.port,
                    socket_timeout=ANSWER_SECONDS,
                    socket_connect_timeout=ANSWER_SECONDS,
                    retry=Retry(NoBackoff(), 0),
                    protocol=2,
                    **options,
                )
            )
            for address in addresses
        ]

    def primary(self) -> tuple[str, int]:
        """Return host and port of the service's primary, from the first sentinel that knows it.

        Raises:
            redis.ConnectionError: If no sentinel answers, or none knows the service.
        """
        problems: list[str] = []
        for client in tuple(self._clients):
            try:
                found: Any = client.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", self._service)
            except (redis.RedisError, OSError) as error:
                problems.append(str(error))
                continue
            if found:
                self._clients = [client, *(each for each in self._clients if each is not client)]
                return found[0].decode(), int(found[1])
            problems.append("a sentinel does not know it")
        raise redis.ConnectionError(f"no sentinel names a primary of {self._service!r}: {'; '.join(problems)}")


class _ToPrimary(Connection):
    """A base for connections to the primary."""

    def __init__(self, *, sentinels: Sentinels, **options: Any) -> None:
        super().__init__(**options)
        self._sentinels = sentinels

    def _connect(self) -> Any:
        self.host, self.port = self._sentinels.primary()
        return cast("Any", super())._connect()

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return cast("Any", super()).read_response(*args, **options)
        except ReadOnlyError as error:
            self.disconnect()
            raise redis.ConnectionError(f"{self.host}:{self.port} is no primary any more") from error


class PrimaryConnection(_ToPrimary):
    """A connection to the server that is the primary at the time of connecting."""


class PrimaryTlsConnection(_ToPrimary, SSLConnection):
    """A connection to the primary with TLS."""


def is_sentinel_url(url: str) -> bool:
    """Whether a URL names sentinels."""
    return url.partition("://")[0] in SCHEMES


def sentinel_pool(url: str, **options: Any) -> redis.ConnectionPool:
    """A pool of connections to the primary.

    Args:
        url: redis+sentinel:// or rediss+sentinel://, with ``user:password@`` of the server, hosts and ports of the
            sentinels, the service, a database, and parameters as in other URLs.
        **options: Options of the connections, besides those in the URL.

    Raises:
        ValueError: If the URL cannot be used.
    """
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    service, _, database = parts.path.strip("/").partition("/")
    if not service or not (database or "0").isdecimal():
        raise ValueError("a URL of sentinels names hosts, a service and a database")
    given: dict[str, Any] = cast("Any", redis.connection).parse_url(
        f"{SCHEMES[parts.scheme]}://{user}{at}primary/{database}?{parts.query}"
    )
    is_tls = given.pop("connection_class", None) is not None
    del given["host"]
    named = [name for name in given if name.startswith(_OF_SENTINELS)]
    of_sentinels = {name.removeprefix(_OF_SENTINELS): given.pop(name) for name in named}
    of_tls = {name: value for name, value in given.items() if name.startswith("ssl_")}
    sentinels = Sentinels(
        [_address(each) for each in hosts.split(",")], unquote(service), tls=is_tls, **of_sentinels, **of_tls
    )
    kind = PrimaryTlsConnection if is_tls else PrimaryConnection
    return redis.ConnectionPool(connection_class=kind, sentinels=sentinels, **(_BY_DEFAULT | options | given))


def _address(text: str) -> _Address:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("a sentinel has no host")
    return _Address(parts.hostname, parts.port or DEFAULT_PORT)
