"""Serves `/metrics` over HTTP, from threads of its own: each scrape asks a collector anew.

In the flow: the processes ``ledger`` and ``scheduler``, each at its own port. There is no login.
"""

import errno
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.registry import Collector

from ...configs.errors import SettingsError
from ...configs.logger import Logger

_log: Final = Logger(__name__)


@contextmanager
def served(collector: Collector, host: str, port: int, *, setting: str) -> Generator[int]:
    """Serve until the block ends.

    Args:
        collector: Answers scrapes; several threads may ask it at once.
        host: The address to listen on.
        port: The port; 0: a free one.
        setting: The setting that named the port, for errors.

    Yields:
        The port.

    Raises:
        SettingsError: If the host is no address of this machine.
        OSError: If the port is taken. Nothing was served.
    """
    registry = CollectorRegistry()
    registry.register(collector)
    try:
        server, thread = start_http_server(port, host, registry)
    except socket.gaierror as error:
        raise SettingsError(f"metrics.host: {host!r} is no address of this machine: {error.strerror}") from None
    except OSError as error:
        told = "the port is taken" if error.errno == errno.EADDRINUSE else error.strerror
        raise OSError(error.errno, f"{host}:{port}: {told}; see metrics.host and {setting}") from None
    _log.info("metrics_served", host=host, port=server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
