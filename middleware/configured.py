"""Reads the arguments of ``BandedRedisBroker.from_settings()`` from the settings.

In the flow: called once, where an application makes its broker. An argument overrides its setting, and a warning in the
log says so. This module is imported on demand: a program that needs no settings does not pay for reading them.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..configs.logger import Logger
from ..configs.settings import Settings, load_settings, sections
from ..configs.unread import warn_of_unknown
from ..scheduler.server.connection import client_of, redis_url

log = Logger(__name__)
SERVERS: Final = frozenset({"client", "connection_pool", "host", "unix_socket_path", "url"})
"""Arguments that name the server."""
ARGUMENT_OF: Final = {
    ("redis", "url"): SERVERS,
    ("redis", "prefix"): {"prefix"},
    ("redis", "dramatiq_namespace"): {"namespace"},
    ("redis", "socket_timeout_seconds"): SERVERS,
    ("redis", "deadline_seconds"): {"deadline_seconds"},
    ("redis", "max_message_bytes"): {"max_message_bytes"},
    ("leases", "lease_ttl_ms"): {"lease_ttl_ms"},
}


def arguments_of_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the broker's arguments: the given ones, and the settings' values for the others.

    Raises:
        SettingsError: If a setting is wrong or unknown.
        QueueUnavailable: If the server's URL cannot be used.
    """
    settings = load_settings()
    warn_of_unknown(sections())
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
    if "namespace" not in given or "prefix" in settings.redis.model_fields_set:
        said["prefix"] = settings.redis.prefix  # otherwise the prefix follows the namespace
    if SERVERS.isdisjoint(given):
        timeout_seconds = settings.redis.command_timeout_seconds
        said["client"] = client_of(redis_url(settings), socket_timeout_seconds=timeout_seconds)
    return said
