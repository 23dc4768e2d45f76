"""Makes the brokers of further shards, each with the arguments of the one that users have.

In the flow: once, at the end of the constructor of a broker that has shards. Nothing is connected.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from ...configs.errors import SettingsError
from ...configs.shards import ShardSettings, host_of, read_shards, same_places, told_same
from ...scheduler.server.connection import client_of
from ..broker_arguments import SERVERS
from .routing import Shards
from .shard_workers import ShardWorkers
from .sharded_broker import ShardedBroker

Given = Mapping[str, str | Mapping[str, object]]
"""Shards as a program or the settings give them."""


def share(
    home: ShardedBroker,
    kind: Callable[..., ShardedBroker],
    shards: Given,
    consumed: tuple[str, ...],
    arguments: Mapping[str, Any],
    *,
    lease_ttl_ms: int,
) -> ShardWorkers:
    """Give a broker its shards.

    Args:
        home: The broker, which is that of shard `default`.
        kind: Makes another one.
        shards: The further shards.
        consumed: From which shards workers of this process take; none named: from all.
        arguments: Those of the broker; what names its server is left out.
        lease_ttl_ms: How long a grant lasts without renewal.

    Returns:
        What starts the workers of the further shards: the broker's middleware.

    Raises:
        SettingsError: If a shard is wrong, or two are one database.
        InvalidRequest: If one of `consumed` is no shard.
    """
    kept = {name: value for name, value in arguments.items() if name not in SERVERS}
    scripts = home.queue.scripts

    def make(shard: ShardSettings) -> ShardedBroker:
        return kind(
            client=client_of(shard.url, socket_timeout_seconds=scripts.deadline_seconds),
            middleware=[],
            prefix=scripts.keys.prefix,
            lease_ttl_ms=lease_ttl_ms,
            deadline_seconds=scripts.deadline_seconds,
            **kept,
        )

    made = Shards(home, read_shards(shards), make, consumed)
    places = {name: _place(each.client) for name, each in made.brokers.items()}
    if (found := same_places(places)) is not None:
        place = ", ".join(str(part) for part in cast("tuple[object, ...]", places[found[1]]))
        raise SettingsError(f"shards: {told_same(*found, place)}")
    home.shards = made
    for name, each in home.shards.others.items():
        each.shards, each.shard = home.shards, name
    return ShardWorkers(home.shards)


def _place(client: Any) -> object:
    """Which database of which server a client is of, as far as it can be told without asking."""
    given: dict[str, Any] = client.connection_pool.connection_kwargs
    database = int(given.get("db") or 0)
    if "path" in given:
        return given["path"], database
    if "host" not in given:
        return (client,)  # of sentinels, which are asked for the server
    return host_of(given["host"]), int(given.get("port") or 6379), database
