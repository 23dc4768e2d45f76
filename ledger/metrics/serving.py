"""Serves `/metrics` over HTTP, from the process ``ledger``, whether or not it is the one that consumes.

In the flow: each scrape reads Redis and the ledger anew, so that processes which restart or take over serve the same
figures. If one of the two does not answer, the scrape has what the other one tells, and says which is away: a counter
that is not known is left out, since a 0 would be taken for a restart.
"""

import errno
import socket
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ...configs.errors import SettingsError
from ...configs.logger import Logger
from ...configs.metrics import MetricsSettings
from ...scheduler.engine.engine import Engine
from ...scheduler.engine.journal_following import Follower
from ...scheduler.model.errors import QueueUnavailable
from ..database import Database
from ..errors import LedgerRefused, LedgerUnavailable
from .families import of_ledger, of_queue
from .ledger_figures import LedgerFigures, read_ledger
from .queue_figures import QueueReading

_log: Final = Logger("bandmaster.ledger")


class FiguresCollector(Collector):
    """Answers scrapes. Safe to share between threads."""

    def __init__(self, engine: Engine, database: Database, *, gates: int) -> None:
        """Makes no call.

        Args:
            engine: The queue.
            database: Its ledger.
            gates: How many gates have series.
        """
        self._queue = QueueReading(engine, gates)
        self._follower = Follower(engine.scripts)
        self._database = database

    def collect(self) -> Iterator[Metric]:
        """Read all there is to read at this moment."""
        ledger = self._ledger()
        try:
            yield from of_queue(self._queue.read())
            yield from self._lag(ledger)
            redis_up = 1
        except QueueUnavailable as error:
            _log.warning("scrape_without_redis", error=str(error))
            redis_up = 0
        if ledger is not None:
            yield from of_ledger(ledger)
        yield GaugeMetricFamily("bandmaster_redis_up", "1 if Redis answered this scrape, else 0", redis_up)
        yield GaugeMetricFamily("bandmaster_ledger_up", "1 if SQL answered it, else 0", int(ledger is not None))

    def _ledger(self) -> LedgerFigures | None:
        try:
            return read_ledger(self._database)
        except (LedgerUnavailable, LedgerRefused) as error:
            _log.warning("scrape_without_ledger", error=str(error))
            return None

    def _lag(self, ledger: LedgerFigures | None) -> Iterator[Metric]:
        if ledger is None or ledger.position is None:
            return
        lag = self._follower.behind(ledger.position)
        # Of a journal that is another one now, nothing was read yet; the consumer will say from where.
        if lag is not None:
            yield GaugeMetricFamily("bandmaster_ledger_lag_entries", "Entries that the ledger has yet to read", lag)


@contextmanager
def served(settings: MetricsSettings, engine: Engine, database: Database) -> Generator[int]:
    """Serve in threads of its own, until the block ends.

    Args:
        settings: Where. The port is given.
        engine: The queue.
        database: Its ledger.

    Yields:
        The port.

    Raises:
        SettingsError: If the host is no address of this machine.
        OSError: If the port is taken. Nothing was served.
    """
    host, port = settings.host, settings.port or 0
    registry = CollectorRegistry()
    registry.register(FiguresCollector(engine, database, gates=settings.gates))
    try:
        server, thread = start_http_server(port, host, registry)
    except socket.gaierror as error:
        raise SettingsError(f"metrics.host: {host!r} is no address of this machine: {error.strerror}") from None
    except OSError as error:
        told = "the port is taken" if error.errno == errno.EADDRINUSE else error.strerror
        raise OSError(error.errno, f"{host}:{port}: {told}; see metrics.host and metrics.port") from None
    _log.info("metrics_served", host=host, port=server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
