"""``Logger``: how every module says what happened, through `logging`, to whatever the application has configured.

In the flow: a constant event name with key-value context goes to the logger ``bandmaster.…`` of the module. Its record
reads ``event name=value …``, and carries the same as a dict under ``record.bandmaster``, for who writes JSON. Nothing
is printed by itself: without a configuration, nothing is said. Values are escaped in the text, so that none can forge a
line or a colour (F27); payloads and secrets are never given here.
"""

import logging
from collections.abc import Mapping
from typing import Final

ROOT: Final = "bandmaster"
"""The logger above all of ours."""
RECORD_ATTRIBUTE: Final = "bandmaster"
"""Where a record carries ``{"event": …, **context}``."""
_TO_THE_CALLER: Final = 3

# Without it, Python prints warnings of an application that has configured nothing.
logging.getLogger(ROOT).addHandler(logging.NullHandler())


class Logger:
    """The events of one module."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **context: object) -> None:
        """Of use only to who looks for a defect."""
        self._log(logging.DEBUG, event, context)

    def info(self, event: str, **context: object) -> None:
        """In order, and worth to know."""
        self._log(logging.INFO, event, context)

    def warning(self, event: str, **context: object) -> None:
        """Out of order, but taken care of."""
        self._log(logging.WARNING, event, context)

    def error(self, event: str, *, exc_info: BaseException | None = None, **context: object) -> None:
        """Somebody has to look at it. With an exception, its traceback follows."""
        self._log(logging.ERROR, event, context, exc_info)

    def exception(self, event: str, **context: object) -> None:
        """As `error`, with the exception that is handled now."""
        self._log(logging.ERROR, event, context, True)

    def _log(
        self, level: int, event: str, context: Mapping[str, object], exc_info: BaseException | bool | None = None
    ) -> None:
        if not self._logger.isEnabledFor(level):
            return
        # A constant text and its values: what collects records groups them by the first.
        text = " ".join((event, *(f"{name}=%({name})s" for name in context)))
        values = ({name: _shown(value) for name, value in context.items()},) if context else ()
        self._logger.log(
            level,
            text,
            *values,
            exc_info=exc_info,
            stacklevel=_TO_THE_CALLER,
            extra={RECORD_ATTRIBUTE: {"event": event, **context}},
        )


def _shown(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text and text else repr(text)
