"""Finds the server and connects to it, the same way in every process.

The server is the one that ``BANDMASTER_REDIS__URL`` names, else the embedded one, found through a socket under
``paths.var_dir``. A starting process waits for it for a limited time, and logs that it waits. A client sends each
command once; `Scripts.repeat` alone sends commands again, under one deadline.
"""

import fcntl
import hashlib
import os
import sys
import time
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from ...configs.logger import Logger
from ...configs.redaction import redacted_url
from ...configs.settings import Settings
from ..model.errors import QueueUnavailable
from .sentinel import SCHEMES, is_sentinel_url, sentinel_pool

SOCKET_PATH_MAX_BYTES: Final = 103 if sys.platform == "darwin" else 107
"""The longest path a socket may have (`sun_path` less its closing NUL)."""

SOCKET_NAME: Final = "redis.sock"
LOCK_NAME: Final = "redis.lock"
"""The embedded server holds this lock as long as it lives; the file contains its process id."""

# /tmp and not TMPDIR: two terminals may have different values of TMPDIR, but must find the same socket.
_SHORT_FOLDER: Final = Path("/tmp")
_BEGINNINGS: Final = ("redis://", "rediss://", "unix://", *(f"{scheme}://" for scheme in SCHEMES))
_POLL_SECONDS: Final = 0.05
_SAY_AFTER_SECONDS: Final = 2.0

_log = Logger(__name__)


def embedded_folder(settings: Settings) -> Path:
    """Return the folder in which the embedded server keeps its data."""
    return settings.paths.absolute / "redis"


def embedded_socket(settings: Settings) -> Path:
    """Return the embedded server's socket: in its data folder, or, if that path is too long for a socket, under /tmp.

    Raises:
        QueueUnavailable: If the folder under /tmp belongs to another user, who could then pose as the server.
    """
    socket = embedded_folder(settings) / SOCKET_NAME
    if len(os.fsencode(socket)) <= SOCKET_PATH_MAX_BYTES:
        return socket
    digest = hashlib.sha256(os.fsencode(socket)).hexdigest()[:16]
    folder = _SHORT_FOLDER / f"bandmaster-{os.geteuid()}-{digest}"
    if folder.is_symlink() or (folder.exists() and folder.stat().st_uid != os.geteuid()):
        raise QueueUnavailable(
            f"the folder {folder} is not this user's own; remove it, or set a shorter BANDMASTER_PATHS__VAR_DIR"
        )
    return folder / SOCKET_NAME


def embedded_process(settings: Settings) -> str | None:
    """Return the process id of the embedded server, which its lock file contains, even if the server cannot be reached;
    None if no server holds the lock.
    """
    try:
        lock = os.open(embedded_folder(settings) / LOCK_NAME, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
    finally:
        os.close(lock)
    return None


def redis_url(settings: Settings) -> str:
    """Return the server's URL with its password: for clients and brokers, never for messages (see `redacted_url`)."""
    if settings.redis.url is not None:
        return settings.redis.url
    return f"unix://{quote(os.fsencode(embedded_socket(settings)))}"


def client_of(url: str, *, socket_timeout_seconds: float = 5.0, name: str = "bandmaster") -> redis.Redis:
    """Return a client that sends each command once. Nothing is sent yet.

    Args:
        url: redis://, rediss://, unix:// or redis+sentinel://.
        socket_timeout_seconds: The timeout for connecting and for each answer.
        name: The client's name in the server's CLIENT LIST.

    Raises:
        QueueUnavailable: If the URL cannot be used.
    """
    options: dict[str, Any] = {
        "socket_timeout": socket_timeout_seconds,
        "socket_connect_timeout": socket_timeout_seconds,
        # No retries: those for connecting, checking and sending would multiply, also with those of a caller.
        "retry": Retry(NoBackoff(), 0),
        # RESP2: every server and proxy gives the same answers, and no push messages come between them.
        "protocol": 2,
        "client_name": name,
    }
    try:
        if is_sentinel_url(url):
            return redis.Redis(connection_pool=sentinel_pool(url, **options))
        return redis.Redis.from_url(url, **options)
    except ValueError:
        # Raised without its cause, which may show a part of a password that was parsed as the port.
        wrong = (
            "check its port and parameters"
            if url.startswith(_BEGINNINGS)
            else "it begins with none of " + ", ".join(_BEGINNINGS)
        )
        raise QueueUnavailable(f"the server's URL cannot be used: {wrong}", url=redacted_url(url)) from None


def connect(settings: Settings, *, wait_seconds: float | None = None, name: str = "bandmaster") -> redis.Redis:
    """Wait until the server answers, and return a client of it.

    Args:
        settings: The settings that name the server.
        wait_seconds: How long to wait for the server; None: `redis.connect_wait_seconds`. 0: one try.
        name: The client's name in the server's CLIENT LIST.

    Raises:
        QueueUnavailable: If the server did not answer in time, or refused.
    """
    url = redis_url(settings)
    timeout_seconds = settings.redis.command_timeout_seconds
    wait_until_it_answers(
        url,
        wait_seconds=settings.redis.connect_wait_seconds if wait_seconds is None else wait_seconds,
        socket_timeout_seconds=timeout_seconds,
        advice=server_advice(settings),
    )
    return client_of(url, socket_timeout_seconds=timeout_seconds, name=name)


def wait_until_it_answers(url: str, *, wait_seconds: float, socket_timeout_seconds: float, advice: str) -> None:
    """Ping the server until it answers; after 2 s, log once that the process waits for it."""
    shown = redacted_url(url)
    started = time.monotonic()
    said = False
    with client_of(url, socket_timeout_seconds=socket_timeout_seconds) as client:
        while True:
            try:
                client.ping()
                return
            except redis.AuthenticationError as error:
                raise QueueUnavailable(
                    f"the server refuses the user or password: {error}; {advice}", url=shown
                ) from error
            except redis.ResponseError as error:
                raise QueueUnavailable(f"the server refuses: {error}; {advice}", url=shown) from error
            except (redis.ConnectionError, redis.TimeoutError) as error:
                waited_seconds = time.monotonic() - started
                if waited_seconds >= wait_seconds:
                    raise QueueUnavailable(
                        f"the server did not answer within {wait_seconds:g} s ({error}); {advice}", url=shown
                    ) from error
            if not said and waited_seconds >= _SAY_AFTER_SECONDS:
                said = True
                _log.warning("redis_awaited", url=shown, wait_seconds=wait_seconds, advice=advice)
            time.sleep(_POLL_SECONDS)


def server_advice(settings: Settings) -> str:
    """Return the advice that error messages give when the server does not answer."""
    if settings.redis.url is not None:
        return "start that server, or name another with BANDMASTER_REDIS__URL"
    return (
        f"start everything for the folder {settings.paths.absolute} with `bandmaster up`, or only the server with "
        "`python -m bandmaster.scheduler.server.embedded` (the Procfile's `redis`), or name one with "
        "BANDMASTER_REDIS__URL"
    )
