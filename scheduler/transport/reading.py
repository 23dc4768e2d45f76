"""Reads with plain commands, repeated within one deadline while the server does not answer.

In the flow: `views.py` and `controls.py` read so. Reading changes nothing, so it may be repeated without a token.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from .scripts import Scripts

P = ParamSpec("P")
T = TypeVar("T")


class Reader:
    """What reads on one server."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    @property
    def _client(self) -> Any:
        return self._scripts.client

    def ask(self, read: Callable[[], T]) -> T:
        """Read within one call."""
        return self._scripts.repeat(read)


R = TypeVar("R", bound=Reader)


def repeated(read: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T]:
    """Make one call of a reader's method.

    Raises:
        QueueUnavailable: From the method, if the server did not answer within the deadline, or refused.
    """

    @wraps(read)
    def reading(reader: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return reader.ask(lambda: read(reader, *args, **kwargs))

    return reading
