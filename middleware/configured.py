"""Reads the arguments of ``BandedRedisBroker.from_settings()`` from the settings.

In the flow: called once, where an application makes its broker. An argument overrides its setting, and a warning in the
log says so. This module is imported on demand: a program that needs no settings does not pay for reading them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..configs.errors import SettingsError
from ..configs.logger import Logger
from ..configs.settings import Settings, load_settings, sections
from ..configs.sources import variable_of
from ..configs.unread import warn_of_unknown
from ..scheduler.server.connection import client_of, redis_url
from .broker_arguments import SERVERS, check_used

log = Logger(__name__)
ARGUMENT_OF: Final = {
    ("redis", "url"): frozenset(SERVERS),
    ("redis", "prefix"): {"prefix"},
    ("redis", "dramatiq_namespace"): {"namespace"},
    ("redis", "socket_timeout_seconds"): frozenset(SERVERS),
    ("redis", "deadline_seconds"): {"deadline_seconds"},
    ("redis", "max_message_bytes"): {"max_message_bytes"},
    ("leases", "lease_ttl_ms"): {"lease_ttl_ms"},
    ("shards", "consumed"): {"consumed_shards"},
}


def arguments_of_settings(given: Mapping[str, Any], own: Callable[..., Any]) -> dict[str, Any]:
    """Return the broker's arguments: the given ones, and the settings' values for the others.

    Args:
        given: Those that the application gives.
        own: The broker's constructor.

    Raises:
        SettingsError: If a setting is wrong or unknown.
        QueueUnavailable: If the server's URL cannot be used.
        InvalidRequest: If an argument of a client would have no effect.
    """
    if not any(name in given for name in SERVERS):
        check_used(given, own)
    settings = load_settings()
    warn_of_unknown(sections())
    if settings.shards.only:
        raise SettingsError(
            f"shards.only is {settings.shards.only!r}, but a broker sends to every shard: unset it here "
            f"({variable_of('shards', 'only')}); shards.consumed says from which shards workers take"
        )
    for (section, name), arguments in ARGUMENT_OF.items():
        if name in getattr(settings, section).model_fields_set and not arguments.isdisjoint(given):
            argument = ", ".join(sorted(arguments & given.keys()))
            log.warning("setting_overridden", setting=f"{section}.{name}", argument=argument)
    return _said(settings, given) | {"settings": settings} | dict(given)


def _said(settings: Settings, given: Mapping[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "namespace": settings.redis.dramatiq_namespace,
        "lease_ttl_ms": settings.leases.lease_ttl_ms,
        "deadline_seconds": settings.redis.deadline_seconds,
        "max_message_bytes": settings.redis.max_message_bytes,
    }
    if settings.shards.servers and not any(name in given for name in SERVERS):
        said["shards"] = {name: each.claims for name, each in settings.shards.servers.items()}
        said["consumed_shards"] = settings.shards.consumed
    if "namespace" not in given or "prefix" in settings.redis.model_fields_set:
        said["prefix"] = settings.redis.prefix  # otherwise the prefix follows the namespace
    if not any(name in given for name in SERVERS):
        timeout_seconds = settings.redis.command_timeout_seconds
        said["client"] = client_of(redis_url(settings), socket_timeout_seconds=timeout_seconds)
    return said
