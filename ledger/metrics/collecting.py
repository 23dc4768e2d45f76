"""Answers scrapes of `/metrics` in the process ``ledger``, whether or not it is the one that consumes.

In the flow: each scrape reads Redis and the ledger anew, so that processes which restart or take over serve the same
figures. If one of the two does not answer, the scrape has what the other one tells, and says which is away: a counter
that is not known is left out, since a 0 would be taken for a restart.
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ...configs.logger import Logger
from ...scheduler.engine.engine import Engine
from ...scheduler.engine.journal_following import Follower
from ...scheduler.metrics.queue_families import of_queue
from ...scheduler.metrics.queue_figures import QueueReading
from ...scheduler.model.errors import QueueUnavailable
from ..database import Database
from ..errors import LedgerRefused, LedgerUnavailable
from ..write_signs import WriteSigns
from .item_families import of_items
from .ledger_figures import LedgerFigures, read_ledger
from .totals_families import of_ledger

_log: Final = Logger("bandmaster.ledger")


class FiguresCollector(Collector):
    """Answers scrapes. Safe to share between threads."""

    def __init__(self, engine: Engine, database: Database, *, gates: int) -> None:
        """Makes no call.

        Args:
            engine: The queue.
            database: Its ledger.
            gates: How many gates have series, and as many queues of items.
        """
        self._queue = QueueReading(engine, gates)
        self._queues = gates
        self._follower = Follower(engine.scripts)
        self._signs = WriteSigns(engine.scripts)
        self._database = database

    def collect(self) -> Iterator[Metric]:
        """Read all there is to read at this moment."""
        ledger, lanes, redis_up = self._ledger(), list[str](), 0
        try:
            queue = self._queue.read()
            lanes = [lane.lane for lane in queue.lanes]
            yield from of_queue(queue)
            yield from self._lag(ledger)
            yield self._unwritten()
            redis_up = 1
        except QueueUnavailable as error:
            _log.warning("scrape_without_redis", error=str(error))
        if ledger is not None:
            yield from of_ledger(ledger, lanes)
        yield from self._items()
        yield GaugeMetricFamily("bandmaster_redis_up", "1 if Redis answered this scrape, else 0", redis_up)
        yield GaugeMetricFamily("bandmaster_ledger_up", "1 if SQL answered it, else 0", int(ledger is not None))

    def _ledger(self) -> LedgerFigures | None:
        try:
            return read_ledger(self._database)
        except (LedgerUnavailable, LedgerRefused) as error:
            _log.warning("scrape_without_ledger", error=str(error))
            return None

    def _items(self) -> list[Metric]:
        try:
            with self._database.reading() as connection:
                return list(of_items(connection, self._queues))
        except (LedgerUnavailable, LedgerRefused) as error:
            _log.warning("scrape_without_items", error=str(error))
            return []

    def _lag(self, ledger: LedgerFigures | None) -> Iterator[Metric]:
        if ledger is None or ledger.position is None:
            return
        lag = self._follower.behind(ledger.position)
        # Of a journal that is another one now, nothing was read yet; the consumer will say from where.
        if lag is not None:
            yield GaugeMetricFamily("bandmaster_ledger_lag_entries", "Entries that the ledger has yet to read", lag)

    def _unwritten(self) -> Metric:
        unwritten = self._signs.unwritten()
        text = "Seconds for which nobody could write the ledger; 0: somebody can, or nobody tries"
        lasting_ms = 0 if unwritten is None else unwritten.lasting_ms
        return GaugeMetricFamily("bandmaster_ledger_unwritten_seconds", text, lasting_ms / 1000)
