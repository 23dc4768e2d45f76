"""``Logger``: the logger of every module, which uses the standard `logging` as the application has configured it.

In the flow: a constant event name with key-value context goes to the logger ``bandmaster.…`` of the module. Its record
reads ``event name=value …``, and has the same data as a dict under ``record.bandmaster``, for handlers that write JSON.
Without a logging configuration, nothing is printed. Values are escaped in the text, so that none can forge a line or a
colour (F27). Callers never pass payloads or secrets. Under a span, the dict names its ``trace_id`` and ``span_id``.
"""

import logging
import sys
from collections.abc import Mapping
from typing import Final

ROOT: Final = "bandmaster"
"""The parent of all loggers of Bandmaster."""
RECORD_ATTRIBUTE: Final = "bandmaster"
"""The attribute in which a record carries ``{"event": …, **context}``."""
_TO_THE_CALLER: Final = 3

# Without this handler, Python prints warnings in an application that has not configured logging.
logging.getLogger(ROOT).addHandler(logging.NullHandler())


class Logger:
    """The events of one module."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **context: object) -> None:
        """Log an event that helps only in the search for a defect."""
        self._log(logging.DEBUG, event, context)

    def info(self, event: str, **context: object) -> None:
        """Log an event that is in order and worth knowing."""
        self._log(logging.INFO, event, context)

    def warning(self, event: str, **context: object) -> None:
        """Log an event that is out of order, but handled."""
        self._log(logging.WARNING, event, context)

    def error(self, event: str, *, exc_info: BaseException | None = None, **context: object) -> None:
        """Log an event that a person has to look at, with the traceback of an exception if one is given."""
        self._log(logging.ERROR, event, context, exc_info)

    def exception(self, event: str, **context: object) -> None:
        """Log as `error` does, with the exception that is being handled."""
        self._log(logging.ERROR, event, context, True)

    def _log(
        self, level: int, event: str, context: Mapping[str, object], exc_info: BaseException | bool | None = None
    ) -> None:
        if not self._logger.isEnabledFor(level):
            return
        # The text is constant and its values are separate, since log collectors group records by the text.
        text = " ".join((event, *(f"{name}=%({name})s" for name in context)))
        values = ({name: _shown(value) for name, value in context.items()},) if context else ()
        self._logger.log(
            level,
            text,
            *values,
            exc_info=exc_info,
            stacklevel=_TO_THE_CALLER,
            extra={RECORD_ATTRIBUTE: {"event": event, **context, **trace_ids()}},
        )


def trace_ids() -> dict[str, str]:
    """Return ``trace_id`` and ``span_id`` of the current span, in hexadecimal; nothing if there is no span."""
    # Where nobody has imported it, there is no span; it belongs to an extra, and takes time to import.
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return {}
    span = trace.get_current_span().get_span_context()
    return {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"} if span.is_valid else {}


def _shown(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text and text else repr(text)
