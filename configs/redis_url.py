"""Checks the URL of a Redis server, wherever settings name one; its password is never part of an error.

In the flow: `redis.url` and each shard's `url` are checked when the settings are read. Nothing is connected.
"""

from typing import Final
from urllib.parse import SplitResult, urlsplit

_URL_FORMS: Final = (
    "it must be a URL like redis://host:6379/0, rediss://host:6379/0, unix:///path/to/redis.sock or "
    "redis+sentinel://host:26379,host2:26379/service/0"
)
_SENTINEL_SCHEMES: Final = ("redis+sentinel", "rediss+sentinel")


def _names_sentinels(parts: SplitResult) -> bool:
    hosts = [urlsplit(f"//{host}") for host in parts.netloc.rpartition("@")[2].split(",")]
    service, _, database = parts.path.strip("/").partition("/")
    return all(host.hostname and host.port != 0 for host in hosts) and bool(service) and (database or "0").isdecimal()


def checked_redis_url(value: str) -> str:
    """Return the URL if it can name a server.

    Raises:
        ValueError: If it cannot.
    """
    try:
        parts = urlsplit(value)
        if parts.scheme in _SENTINEL_SCHEMES:
            usable = _names_sentinels(parts)
        else:
            is_unix = parts.scheme == "unix"
            usable = bool(parts.path) and not parts.hostname if is_unix else bool(parts.hostname) and parts.port != 0
    except ValueError:
        # Python's message could show a part of an unencoded password, parsed as the port.
        raise ValueError(
            f"it is not a URL; special characters in a password are written as %XX; {_URL_FORMS}"
        ) from None
    known = ("redis://", "rediss://", "unix://", *(f"{scheme}://" for scheme in _SENTINEL_SCHEMES))
    if not value.startswith(known) or not usable:
        raise ValueError(_URL_FORMS)
    return value
