"""``DramatiqInstrumentor``: turns the traces of messages on and off, for every broker of the process.

In the flow: `opentelemetry-instrument` calls `instrument` before the application is imported. `enqueue` is replaced in
each class of brokers, when the first broker of that class is made if it is defined later; and two hooks of `Broker`,
which all brokers share. Errors of exporters are OpenTelemetry's own and reach no message.
"""

import functools
from collections.abc import Callable, Collection, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any, Final

from dramatiq import Broker, MessageProxy
from dramatiq.middleware import MiddlewareError
from dramatiq.worker import _WorkerThread  # pyright: ignore[reportPrivateUsage]  # a thread's whole work on a message
from opentelemetry import trace
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from bandmaster.configs.logger import Logger
from bandmaster.scheduler.spans import use

from .patches import Patches
from .process_spans import ProcessSpans
from .sending import Sending
from .working import Working

log = Logger(__name__)
OTHER: Final = "opentelemetry-instrumentation-dramatiq"
"""The other package for the same: it replaces the options of a message by its own."""
Method = Callable[..., Any]


class DramatiqInstrumentor(BaseInstrumentor):
    """The instrumentor of Dramatiq, with and without Bandmaster's brokers. One a process, however often it is made."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return what has to be installed, so that there is anything to trace."""
        return ("dramatiq >= 2.2",)

    def _instrument(self, **kwargs: Any) -> None:
        if _is_installed(OTHER):
            log.warning(
                "other_instrumentor_installed",
                package=OTHER,
                effect="it destroys the options of messages",
                remedy="uninstall it, or set OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=dramatiq",
            )
        tracer = trace.get_tracer("bandmaster.telemetry", tracer_provider=kwargs.get("tracer_provider"))
        self._patches = Patches()
        sending, working = Sending(tracer), Working(tracer)
        use(ProcessSpans(tracer))

        def enqueue(original: Method) -> Method:
            @functools.wraps(original)
            def enqueued(broker: Broker, message: Any, *, delay: int | None = None) -> Any:
                return sending.enqueue(original, broker, message, delay)

            return enqueued

        def instrument_class(kind: type[Broker]) -> None:
            for each in kind.__mro__:
                if each is not Broker and "enqueue" in each.__dict__:
                    self._patches.replace(each, "enqueue", enqueue)

        def init(original: Method) -> Method:
            @functools.wraps(original)
            def initialised(broker: Broker, *args: Any, **named: Any) -> None:
                instrument_class(type(broker))
                original(broker, *args, **named)

            return initialised

        for kind in _subclasses(Broker):
            instrument_class(kind)
        self._patches.replace(Broker, "__init__", init)
        self._patches.replace(Broker, "emit_before", lambda original: _before(original, sending, working))
        self._patches.replace(Broker, "emit_after", lambda original: _after(original, working))
        self._patches.replace(_WorkerThread, "process_message", lambda original: _processing(original, working))

    def _uninstrument(self, **kwargs: Any) -> None:
        use(None)
        self._patches.restore()


def _before(original: Method, sending: Sending, working: Working) -> Method:
    @functools.wraps(original)
    def emit_before(broker: Broker, signal: str, *args: Any, **named: Any) -> None:
        if signal == "enqueue" and not isinstance(args[0], MessageProxy):
            sending.create(args[0])
        if signal != "process_message":
            original(broker, signal, *args, **named)
            return
        try:
            original(broker, signal, *args, **named)
        except MiddlewareError:
            raise  # it is skipped, or was a mere hint: no body begins
        except BaseException:
            working.begin(args[0])
            raise
        working.begin(args[0])

    return emit_before


def _after(original: Method, working: Working) -> Method:
    @functools.wraps(original)
    def emit_after(broker: Broker, signal: str, *args: Any, **named: Any) -> None:
        if signal not in ("process_message", "skip_message"):
            original(broker, signal, *args, **named)
            return
        working.tell(named.get("exception"), is_skipped=signal == "skip_message")
        try:
            original(broker, signal, *args, **named)
        finally:
            working.end()

    return emit_after


def _processing(original: Method, working: Working) -> Method:
    @functools.wraps(original)
    def process_message(thread: Any, message: Any) -> None:
        try:
            original(thread, message)
        finally:
            working.end()  # an interrupt may have struck between the hooks

    return process_message


def _subclasses(kind: type[Broker]) -> Iterator[type[Broker]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
