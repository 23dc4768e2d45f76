"""``QueueCollector``: answers scrapes of the scheduler process with what Redis tells; no ledger is needed.

In the flow: `port.py` asks it. Any number of scheduler processes may be scraped: the one that leads tells all, the
others only whether there is one that leads, so that their figures may be added up.
"""

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ...configs.logger import Logger
from ..engine.engine import Engine
from ..model.errors import QueueUnavailable
from .queue_families import of_leader, of_queue
from .queue_figures import QueueReading

_log: Final = Logger(__name__)


class QueueCollector(Collector):
    """Safe to share between threads."""

    def __init__(self, engine: Engine, *, gates: int, leads: Callable[[], bool]) -> None:
        """Makes no call.

        Args:
            engine: The queue.
            gates: How many gates, and how many actions, have series.
            leads: Whether this process leads.
        """
        self._engine = engine
        self._reading = QueueReading(engine, gates)
        self._leads = leads

    def collect(self) -> Iterator[Metric]:
        """Read all there is to read at this moment. If Redis does not answer, nothing but that is told."""
        try:
            if self._leads():
                yield from of_queue(self._reading.read())
            else:
                yield of_leader(self._engine.views.leader() is not None)
            redis_up = 1
        except QueueUnavailable as error:
            _log.warning("scrape_without_redis", error=str(error))
            redis_up = 0
        yield GaugeMetricFamily("bandmaster_redis_up", "1 if Redis answered this scrape, else 0", redis_up)
