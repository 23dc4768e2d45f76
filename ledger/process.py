"""The process that consumes the journal: what it opens, and how a signal ends it.

In the flow: ``python -m bandmaster.ledger`` runs it. The page that is being written when a signal comes is finished,
and the next process may consume at once. A signal that comes while the process still waits for a server ends it there:
nothing is written yet.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final

from ..configs.errors import ExtraMissing
from ..configs.extras import import_extra
from ..configs.logger import Logger
from ..configs.otlp import otlp_pushing
from ..configs.settings import Settings
from ..scheduler.engine.engine import Engine
from ..scheduler.keys import Keys
from ..scheduler.process.health_file import HealthFile
from ..scheduler.process.running import ended_by
from ..scheduler.server.connection import connect
from ..scheduler.transport.scripts import Scripts
from .book import Book
from .consumer import Consumer
from .opening import database_of
from .readying import opened_within
from .retention import Kept
from .settling import Settle, settle_nothing
from .waits.summing import Summing

_log: Final = Logger("bandmaster.ledger")
_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Beside:
    """What the process does besides, chosen by who starts it; so the ledger does not know what that is."""

    settle: Settle
    """Is told of executions as they are written."""
    run: Callable[[Settings, Engine, Book, Consumer], AbstractContextManager[None]]
    """Is entered around the consumer."""


def _run_nothing(
    _settings: Settings, _engine: Engine, _book: Book, _consumer: Consumer
) -> AbstractContextManager[None]:
    return nullcontext()


NOTHING_BESIDE: Final = Beside(settle_nothing, _run_nothing)


def consume(settings: Settings, ends: frozenset[signal.Signals], beside: Beside = NOTHING_BESIDE) -> None:
    """Consume until a signal comes.

    Args:
        settings: All of them.
        ends: The signals that end it. The caller has blocked them before any thread was started: they are awaited here.

    Raises:
        SettingsError: If the ledger's URL is none, or a variable of OpenTelemetry is wrong.
        ExtraMissing: If the database's driver is not installed.
        LedgerError: If the database does not answer at the start, its tables are of another release, it is the ledger
            of another queue, or it refuses.
        QueueUnavailable: If Redis does not answer at the start.
        OSError: If the folder of the health file cannot be written, or the port for metrics is taken.
    """
    with ended_by(ends):
        database = opened_within(settings, settings.redis.connect_wait_seconds)
        client = connect(settings, name="bandmaster-ledger")
    pulse = HealthFile(settings.paths.pulse_dir)
    engine = Engine(Scripts(client, Keys(settings.redis.prefix), deadline_seconds=settings.redis.deadline_seconds))
    holder = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
    book = Book(
        database,
        queue=settings.redis.prefix,
        holder=holder,
        ttl_ms=settings.ledger.lease_ms,
        keep_figures=settings.queue.enable_metrics,
        settle=beside.settle,
    )
    consumer = Consumer(
        engine,
        book,
        keep_payloads=settings.ledger.keep_payloads,
        keep_messages=settings.ledger.keep_messages,
        kept=Kept.by(settings.ledger),
        keep_journal_seconds=settings.ledger.keep_journal_seconds,
        summing=Summing(engine, book, most=settings.ledger.wait_sums_an_hour),
    )
    stop = threading.Event()
    with (
        _metrics(settings, engine),
        _pushed(settings, engine, consumer),
        beside.run(settings, engine, book, consumer),
        ThreadPoolExecutor(max_workers=1, thread_name_prefix="consumer") as executor,
    ):
        work = executor.submit(consumer.run, stop, lambda: pulse.beat(answered=True))
        _log.info("ledger_started", database=database.shown_url)
        # A consumer that failed must not leave a process that consumes nothing.
        while not work.done() and not _has_come(ends):
            pass
        # A second signal ends the process at once, in case the database hangs now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
        stop.set()
    database.close()
    work.result()
    _log.info("ledger_stopped")


def _has_come(ends: frozenset[signal.Signals]) -> bool:
    """Wait for one of the signals for a moment; return whether one came.

    To a process that was stopped meanwhile (SIGSTOP, a frozen container), CPython answers with the number of no signal.
    """
    info = signal.sigtimedwait(ends, _LOOK_SECONDS)
    return info is not None and info.si_signo in ends


@contextmanager
def _metrics(settings: Settings, engine: Engine) -> Generator[None]:
    """Serve them, if a port is named; through connections of their own, so that scrapes take none from the consumer."""
    if settings.metrics.port is None:
        yield
        return
    serving = import_extra("bandmaster.scheduler.metrics.port", "metrics")
    collecting = import_extra("bandmaster.ledger.metrics.collecting", "metrics")
    host, port = settings.metrics.host, settings.metrics.port
    with closing(database_of(settings)) as database:
        collector = collecting.FiguresCollector(engine, database, gates=settings.metrics.gates)
        with serving.served(collector, host, port, setting="metrics.port"):
            yield


@contextmanager
def _pushed(settings: Settings, engine: Engine, consumer: Consumer) -> Generator[None]:
    """Push them over OTLP, if the environment names an endpoint; likewise through connections of their own."""
    how = otlp_pushing()
    if how is None:
        yield
        return
    with closing(database_of(settings)) as database, ExitStack() as entered:
        try:
            pushing = import_extra("bandmaster.ledger.metrics.pushing", "otlp")
            collector = pushing.FiguresCollector(engine, database, gates=settings.metrics.gates)
            queue = settings.redis.prefix
            entered.enter_context(
                pushing.pushed(how, collector, database, queue=queue, consumes=lambda: consumer.consumes)
            )
        except ExtraMissing as error:
            # The endpoint may be meant for other programs that share the environment.
            _log.warning("metrics_not_pushed", error=str(error))
        yield
