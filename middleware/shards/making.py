"""Makes the brokers of further shards, each with the arguments of the one that users have.

In the flow: once, at the end of the constructor of a broker that has shards. Nothing is connected.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...configs.shards import ShardSettings, read_shards
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
        SettingsError: If a shard is wrong.
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

    home.shards = Shards(home, read_shards(shards), make, consumed)
    for name, each in home.shards.others.items():
        each.shards, each.shard = home.shards, name
    return ShardWorkers(home.shards)
