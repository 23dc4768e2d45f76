"""The log format of Bandmaster's own processes: all loggers in one form, for people or as JSON lines.

Only the entry points of these processes (command, scheduler, server, the workers of ``bandmaster.actors``) call
`configure_logging`; an application's own configuration is never touched. Payloads stay out of logs: Dramatiq's records
show a message's arguments, so they are rewritten, and tracebacks come without local variables. Control characters are
escaped, so that no value can forge a line or a colour (F27).
"""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Final, TextIO

import structlog
from dramatiq import Message
from dramatiq.broker import MessageProxy

from .areas import LoggingSettings
from .logger import RECORD_ATTRIBUTE, trace_ids

_KEPT_AS_THEY_ARE: Final = frozenset({"exception", "stack", "timestamp", "level", "logger"})

_CALL_LINE: Final = "Received args=%r kwargs=%r."
"""The line that each Dramatiq actor logs at DEBUG."""

# These log much at INFO that Bandmaster's own events already say.
_QUIETER: Final = ("apscheduler", "alembic", "httpcore", "httpx", "uvicorn")


class WithoutPayloads(logging.Filter):
    """Keeps actors' arguments out of Dramatiq's lines; a message, whose text shows them, is replaced by its id."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every record."""
        if record.msg == _CALL_LINE:
            record.msg, record.args = "Received.", ()
        elif isinstance(record.args, tuple):
            record.args = tuple(_named(argument) for argument in record.args)
        return True


def configure_logging(settings: LoggingSettings, *, stream: TextIO | None = None) -> None:
    """Route all logs of this process to one stream; a further call replaces the configuration.

    Args:
        settings: Level and format.
        stream: The stream; None: standard error.
    """
    target = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(target)
    handler.addFilter(WithoutPayloads())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                _with_context,
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
            ],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(settings, target)],
        )
    )
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(settings.level)
    for name in _QUIETER:
        logging.getLogger(name).setLevel(max(root.level, logging.WARNING))


def _rendering(settings: LoggingSettings, stream: TextIO) -> list[structlog.typing.Processor]:
    if settings.format == "json":
        # JSON escapes control characters by itself.
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    # The pipe with which Dramatiq replaces stderr may have no isatty.
    isatty = getattr(stream, "isatty", None)
    colours = bool(isatty is not None and isatty())
    # The default would show all local variables of a traceback, payloads among them.
    plain = structlog.dev.plain_traceback
    return [_escaped, structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain, pad_event_to=32)]


def _with_context(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    event.update(trace_ids())  # of other libraries' records, too
    event.update(getattr(event["_record"], RECORD_ATTRIBUTE, {}))
    return event


def _escaped(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        if isinstance(value, str) and name not in _KEPT_AS_THEY_ARE and not value.isprintable():
            event[name] = value.encode("unicode_escape").decode()
    return event


def _named(argument: object) -> object:
    if isinstance(argument, Message | MessageProxy):
        return f"{argument.actor_name}[{argument.message_id}]"
    return argument
