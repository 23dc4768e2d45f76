"""The process that serves the API: what it opens, where it listens, and how it ends.

In the flow: ``python -m bandmaster.admin`` runs it. Any number may run; they share nothing but Redis and the database.
At SIGTERM or SIGINT it takes no more connections, answers what it has, and ends.
"""

import errno
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from ..configs.api import PORT, URL_FILE
from ..configs.errors import SettingsError
from ..configs.extras import import_extra
from ..configs.logger import Logger
from ..configs.metrics import MetricsSettings
from ..configs.settings import Settings
from ..scheduler.server.connection import client_of, redis_url
from .application import build, guarded
from .auth.local_token import FILE
from .opening import open_services
from .services import Services

_log = Logger("bandmaster.admin")
GRACE_SECONDS: Final = 10
_BACKLOG: Final = 2_048


def serve(settings: Settings, ends: frozenset[signal.Signals]) -> None:
    """Serve until a signal comes.

    Args:
        settings: All of them.
        ends: The signals that end it. The caller has blocked them: one that came before is heeded now.

    Raises:
        SettingsError: If a setting is wrong, or nobody could call the API.
        ExtraMissing: If a package is not installed.
        OSError: If the address is taken, or a file cannot be read or written.
    """
    api = settings.api
    # Not waited for: each request says whether Redis answers.
    client = client_of(
        redis_url(settings), socket_timeout_seconds=settings.redis.command_timeout_seconds, name="bandmaster-api"
    )
    listening = _listen(settings)
    services = open_services(settings, client)
    with _metrics(settings.metrics) as measured:
        _serve(settings, ends, listening, services, measured(guarded(build(services), api)))
    services.items.waking.close()
    services.shards.close()
    services.queue.close()
    services.ledger.database.close()
    _log.info("api_stopped")


def _serve(
    settings: Settings,
    ends: frozenset[signal.Signals],
    listening: socket.socket,
    services: Services,
    application: ASGIApp,
) -> None:
    api = settings.api
    # The arguments that other ways of starting it would take from the environment are all given.
    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(api.trusted_proxies),
        forwarded_allow_ips=list(api.trusted_proxies),
        ssl_certfile=None if api.tls_certificate is None else str(api.tls_certificate),
        ssl_keyfile=None if api.tls_key is None else str(api.tls_key),
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="off",
    )
    scheme = "http" if api.tls_certificate is None else "https"
    host, port = listening.getsockname()[:2]
    url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    if (settings.paths.absolute / FILE).exists():
        # Beside the token: who sends it reads where to, since the port may be another one than the usual.
        (settings.paths.absolute / URL_FILE).write_text(f"{url}\n")
    _log.info("api_started", url=url)
    server = _Server(config, services)
    # While it serves, Uvicorn's own handlers stand in place of these, and call the same method; then it raises again.
    for each in ends:
        signal.signal(each, server.handle_exit)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
    with listening:
        server.run(sockets=[listening])


@contextmanager
def _metrics(settings: MetricsSettings) -> Generator[Callable[[ASGIApp], ASGIApp]]:
    """Serve this process's own figures, if a port is named; what wraps the application that is measured."""
    if settings.api_port is None:
        yield lambda application: application
        return
    measuring: Any = import_extra("bandmaster.admin.measuring", "metrics").Measuring()
    serving: Any = import_extra("bandmaster.scheduler.metrics.port", "metrics")
    with serving.served(measuring, settings.host, settings.api_port, setting="metrics.api_port"):
        yield measuring.around


class _Server(uvicorn.Server):
    """Lets those go who follow something, as soon as it is to end."""

    def __init__(self, config: uvicorn.Config, services: Services) -> None:
        super().__init__(config)
        self._services = services

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self._services.closing.set()
        super().handle_exit(sig, frame)


def _listen(settings: Settings) -> socket.socket:
    """Take the address; on this machine a port that nobody chose gives way if it is taken."""
    api = settings.api
    try:
        return _bound(api.host, api.port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE and "port" not in api.model_fields_set and api.is_loopback:
            _log.warning("port_taken", port=PORT)
            return _bound(api.host, 0)
        if isinstance(error, socket.gaierror):
            raise SettingsError(f"api.host: {api.host!r} is no address of this machine: {error.strerror}") from None
        raise OSError(error.errno, f"{api.host}:{api.port}: {error.strerror}; see api.host and api.port") from None


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
