"""Reads with plain commands, repeated within one deadline while the server does not answer.

In the flow: `views.py`, `controls.py` and other readers use this. Reading changes nothing, so a read may be repeated
without a token.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from .scripts import Scripts

P = ParamSpec("P")
T = TypeVar("T")


class Reader:
    """The base of classes that read from one server."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    @property
    def _client(self) -> Any:
        return self._scripts.client

    def ask(self, read: Callable[[], T]) -> T:
        """Run a read, repeated within one deadline while the server does not answer."""
        return self._scripts.repeat(read)

    def server_time_ms(self) -> int:
        """Return the time of the server's clock, which gives all timestamps, in unix milliseconds."""
        seconds, microseconds = self.ask(self._client.time)
        return int(seconds) * 1000 + int(microseconds) // 1000

    def _read(self, commands: "list[tuple[str, ...]]") -> list[Any]:
        """Answers to plain commands, in one round trip."""
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return pipeline.execute()


R = TypeVar("R", bound=Reader)


def repeated(read: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T]:
    """Decorate a reader's method so that it is repeated as a whole, within one deadline.

    Raises:
        QueueUnavailable: From the method, if the server did not answer within the deadline, or refused.
    """

    @wraps(read)
    def reading(reader: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return reader.ask(lambda: read(reader, *args, **kwargs))

    return reading
