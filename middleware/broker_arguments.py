"""Arguments of a broker that are meant for its client: each has its effect or is refused. Dramatiq ignores those beside
``url=`` and ``client=``.

In the flow: `BandedRedisBroker` asks before it builds anything. Nothing is sent.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, cast

import redis
import redis.connection
from dramatiq.brokers.redis import RedisBroker

from ..scheduler.model.errors import InvalidRequest
from ..scheduler.model.misspelt import meant_of
from ..scheduler.server.sentinel import is_sentinel_url, sentinel_pool

SERVERS: Final = ("url", "client", "connection_pool", "host", "unix_socket_path")
"""Arguments that name the server."""


def check_names(given: Iterable[str], own: Callable[..., Any]) -> None:
    """Check that each argument is one of the broker, of Dramatiq's, or of the client that is made.

    Args:
        given: The names of arguments that the broker does not take itself.
        own: The broker's constructor.

    Raises:
        InvalidRequest: If there is no such argument.
    """
    for name in given:
        brokers, clients = _of_brokers(own), _of_clients()
        if name not in brokers | clients:
            allowed = f"{', '.join(sorted(brokers))}, or one of redis.Redis{meant_of(name, brokers | clients)}"
            raise InvalidRequest(name, "there is no such argument of a broker", allowed=allowed)


def check_used(given: Iterable[str], own: Callable[..., Any]) -> None:
    """Check that no argument is one of a client, for the settings say what that is.

    Raises:
        InvalidRequest: If one is, and would have no effect.
    """
    allowed = "in redis.url, or beside an argument that names the server: url=, host="
    _check_none(_of_a_client(given, own), "it has no effect on the server that the settings name", allowed)


def with_client(url: str | None, given: Mapping[str, Any], own: Callable[..., Any]) -> dict[str, Any]:
    """Return a broker's arguments in which a client stands for the URL and for what is said of that client.

    Args:
        url: Where the server is; what it says goes before the arguments. None: the arguments say it, or have a client.
        given: Dramatiq's arguments and the client's.
        own: The broker's constructor.

    Raises:
        InvalidRequest: If the server is named twice, or an argument would have no effect on the client that is given.
    """
    of_client = _of_a_client(given, own)
    named = [name for name in SERVERS if (url if name == "url" else given.get(name)) is not None]
    if len(named) > 1:
        raise InvalidRequest(named[1], f"{named[0]}= names a server, too", allowed="one of the two")
    if url is not None:
        said = {name: given[name] for name in of_client}
        client = redis.Redis(connection_pool=sentinel_pool(url, **said)) if is_sentinel_url(url) else _made(url, said)
        return {name: value for name, value in given.items() if name not in said} | {"client": client}
    for name in ("client", "connection_pool"):
        if given.get(name) is not None:
            _check_none(of_client - {name}, f"it has no effect beside {name}=", "where that is made, or beside url=")
    return dict(given)


def _made(url: str, said: Mapping[str, Any]) -> redis.Redis:
    if not said:
        return redis.Redis.from_url(url)
    parsed: dict[str, Any] = cast("Any", redis.connection).parse_url(url)
    kind = parsed.pop("connection_class", None)
    if kind is redis.UnixDomainSocketConnection:
        parsed["unix_socket_path"] = parsed.pop("path")
    elif kind is not None:
        parsed["ssl"] = True
    return redis.Redis(**{**said, **parsed})


def _check_none(names: Iterable[str], problem: str, allowed: str) -> None:
    for name in sorted(names):
        raise InvalidRequest(name, problem, allowed=allowed)


def _of_a_client(given: Iterable[str], own: Callable[..., Any]) -> set[str]:
    return set(given) & (_of_clients() - _of_brokers(own))


def _of_brokers(own: Callable[..., Any]) -> frozenset[str]:
    return _named(own) | _named(cast("Any", RedisBroker.__init__))


def _of_clients() -> frozenset[str]:
    return _named(cast("Any", redis.Redis.__init__))


@cache
def _named(function: Callable[..., Any]) -> frozenset[str]:
    parameters = inspect.signature(function).parameters.values()
    return frozenset(each.name for each in parameters if each.kind is not each.VAR_KEYWORD) - {"self"}
