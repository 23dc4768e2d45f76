"""Reads the arguments and the failure of an actor's execution from its message: bounded, and without secrets.

In the flow: `show` and `dead` use this; nothing is changed. Redis keeps the message of an actor's execution until it
ends, or as a dead letter until that is dropped. Dramatiq stores the traceback of each retried attempt in the message; a
dead letter keeps that of its last attempt beside it. Values named like a secret, and passwords in URLs, are redacted.
"""

import re
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

import dramatiq
from dramatiq.errors import DecodeError

from bandmaster.configs.redaction import REDACTED, redacted_url
from bandmaster.scheduler.engine.record import read_raised
from bandmaster.scheduler.queue import ExecutionQueueService

ARGUMENT_CHARS: Final = 80
ARGUMENTS_CHARS: Final = 400
TRACEBACK_LINES: Final = 30
TRACEBACK_CHARS: Final = 4_000
_DEPTH: Final = 3
_SECRET: Final = re.compile(r"passw|passphrase|secret|token|api_?key|authori[sz]|credential|cookie|private", re.I)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]+")


@dataclass(frozen=True, slots=True)
class Failure:
    """The arguments and the failure of an actor's execution."""

    actor: str
    arguments: str
    exception: str | None
    """The last exception; None if there was none, or it is not kept."""
    traceback: str | None

    def as_json(self) -> dict[str, object]:
        """The failure as a JSON object."""
        return asdict(self)


def read_failure(queue: ExecutionQueueService, execution_id: str) -> Failure | None:
    """What the message tells; None if there is none, or it cannot be read, or an event says it all."""
    raw = queue.views.message(execution_id)
    if raw is None:
        return None
    try:
        message = cast("dramatiq.Message[Any]", dramatiq.Message.decode(raw))
    except DecodeError:
        return None
    raised = read_raised(queue.views, execution_id)
    traceback = raised.traceback if raised else message.options.get("traceback")
    lines = without_secrets(str(traceback)[-TRACEBACK_CHARS:]).splitlines() if traceback else []
    kept = "\n".join(lines[-TRACEBACK_LINES:])
    exception = without_secrets(raised.exception.partition("\n")[0]) if raised else lines[-1] if lines else None
    return Failure(message.actor_name, shown_arguments(message.args, message.kwargs), exception, kept or None)


def shown_arguments(args: tuple[Any, ...] | list[Any], kwargs: dict[str, Any]) -> str:
    """Format arguments as in a call."""
    parts = [_bounded(value) for value in args]
    parts += [f"{name}={REDACTED if _SECRET.search(name) else _bounded(value)}" for name, value in kwargs.items()]
    text = ", ".join(parts)
    return text if len(text) <= ARGUMENTS_CHARS else f"{text[:ARGUMENTS_CHARS]}…"


def without_secrets(text: str) -> str:
    """A text with the passwords of the URLs in it replaced."""
    return _URL.sub(lambda found: redacted_url(found[0]) if "@" in found[0] else found[0], text)


def _bounded(value: object) -> str:
    text = without_secrets(repr(_redacted(value, _DEPTH)))
    return text if len(text) <= ARGUMENT_CHARS else f"{text[:ARGUMENT_CHARS]}…"


def _redacted(value: object, depth: int) -> object:
    if isinstance(value, str):
        # Cut before any search: a value may have a megabyte. The part that is cut off is not shown.
        return value[: ARGUMENT_CHARS * 4]
    if isinstance(value, dict | list) and depth == 0:
        return REDACTED
    if isinstance(value, dict):
        items = list(cast("dict[str, object]", value).items())[:ARGUMENT_CHARS]
        return {k: REDACTED if _SECRET.search(str(k)) else _redacted(v, depth - 1) for k, v in items}
    if isinstance(value, list):
        return [_redacted(each, depth - 1) for each in cast("list[object]", value)[:ARGUMENT_CHARS]]
    return value
