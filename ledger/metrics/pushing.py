"""Pushes metrics over OTLP, from the process ``ledger`` that consumes, to the endpoint that the environment names.

In the flow: a thread of its own reads what a scrape reads and exports it. A collector that fails or hangs costs nothing
but its figures: the next push has them all, since they are cumulative. Nothing waits for the thread, at the end of the
process not for longer than a moment.

All pushes of a queue name the same `service.instance.id`, whichever process makes them: another id would be another
series, which begins with all that was ever counted.
"""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult
from opentelemetry.sdk.resources import OTELResourceDetector, Resource

from ...configs.extras import import_extra
from ...configs.logger import Logger
from ...configs.otlp import GRPC, OtlpPushing
from ..database import Database
from ..errors import LedgerRefused, LedgerUnavailable
from .collecting import FiguresCollector
from .ledger_figures import begun_ms
from .otlp_data import metrics_data

_log: Final = Logger("bandmaster.ledger")
_POINTS_A_REQUEST: Final = 2_000
"""Collectors refuse a gRPC message of more than 4 MiB."""
_END_SECONDS: Final = 1.0
"""How long the end of the process waits for a push that hangs."""


class Pushing:
    """Pushes at intervals, while this process consumes. Its methods but `stop` are called by one thread."""

    def __init__(
        self,
        collector: FiguresCollector,
        database: Database,
        exporter: MetricExporter,
        *,
        queue: str,
        consumes: Callable[[], bool],
        interval_seconds: float,
    ) -> None:
        """Makes no call.

        Args:
            collector: Reads what is pushed.
            database: The ledger.
            exporter: Speaks to the collector; a call of it ends by its own timeout.
            queue: The prefix of the queue's keys, which identifies who tells.
            consumes: Whether this process is the consumer; the others push nothing.
            interval_seconds: How long to wait before each push.
        """
        self._collector = collector
        self._database = database
        self._exporter = exporter
        named = Resource({"service.name": "bandmaster", "service.instance.id": queue})
        self._resource = named.merge(OTELResourceDetector().detect())
        self._consumes = consumes
        self._interval_seconds = interval_seconds
        self._stop = threading.Event()
        self._fails = False

    def run(self) -> None:
        """Push until it is stopped."""
        while not self._stop.wait(self._interval_seconds):
            if not self._consumes():
                continue
            try:
                self._told(self.push())
            except (LedgerUnavailable, LedgerRefused) as error:
                _log.warning("metrics_not_pushed", error=str(error))
            except Exception as error:  # noqa: BLE001  # whatever an exporter raises, the next push may succeed
                # Its text may have the endpoint, and so a password.
                _log.warning("metrics_not_pushed", error=type(error).__name__)

    def push(self) -> bool:
        """Read and export once.

        Returns:
            Whether the collector took it.

        Raises:
            LedgerUnavailable: If the database does not answer.
            LedgerRefused: If it will not do it.
        """
        begun_ns = begun_ms(self._database) * 1_000_000
        families, now_ns = list(self._collector.collect()), time.time_ns()
        data = metrics_data(families, self._resource, begun_ns=begun_ns, now_ns=now_ns)
        return self._exporter.export(data) is MetricExportResult.SUCCESS

    def stop(self) -> None:
        """End `run`, and an export that waits for its next try."""
        self._stop.set()
        self._exporter.shutdown()

    def _told(self, succeeded: bool) -> None:
        """Say when it begins to fail, and when it succeeds again; the exporter itself logs each failure."""
        if self._fails and succeeded:
            _log.info("metrics_pushed_again")
        elif not succeeded and not self._fails and not self._stop.is_set():
            _log.warning("metrics_not_pushed", error="the collector did not take them")
        self._fails = not succeeded


@contextmanager
def pushed(
    how: OtlpPushing, collector: FiguresCollector, database: Database, *, queue: str, consumes: Callable[[], bool]
) -> Generator[None]:
    """Push while the context is open, from a thread of its own.

    Raises:
        ExtraMissing: If the protocol's exporter is not installed.
    """
    pushing = Pushing(
        collector,
        database,
        _exporter_of(how.protocol),
        queue=queue,
        consumes=consumes,
        interval_seconds=how.interval_seconds,
    )
    # A daemon: a collector that hangs must not keep the process.
    thread = threading.Thread(target=pushing.run, name="pushing", daemon=True)
    thread.start()
    _log.info("metrics_are_pushed", protocol=how.protocol, interval_seconds=how.interval_seconds)
    try:
        yield
    finally:
        ending = threading.Thread(target=pushing.stop, daemon=True)
        ending.start()
        thread.join(_END_SECONDS)


def _exporter_of(protocol: str) -> MetricExporter:
    package = "grpc" if protocol == GRPC else "http"
    exporting: Any = import_extra(f"opentelemetry.exporter.otlp.proto.{package}.metric_exporter", "otlp")
    return exporting.OTLPMetricExporter(max_export_batch_size=_POINTS_A_REQUEST)
