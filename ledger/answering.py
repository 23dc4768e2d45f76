"""``AnsweringConnection``: a connection to PostgreSQL that notices a server that hangs.

In the flow: `database.py` opens its connections as such. A server whose host still answers may hang for ever (stopped
by its hypervisor, without its disk), and neither keepalives nor timeouts of its own help. So whoever waits for long
looks whether the server answers a new connection. If it does, the statement takes long, and may; if it does not,
the wait ends, and the transaction with it: it was committed or not, as after any connection that was lost.
"""

import time
from collections.abc import Generator
from typing import Any, Final, Self, TypeVar

import psycopg
from psycopg.errors import ConnectionTimeout, OperationalError
from psycopg.waiting import READY_NONE

T = TypeVar("T")
LOOK_SECONDS: Final = 10.0
"""After so long without an answer it is looked whether the server answers at all, and again each time."""
ANSWER_SECONDS: Final = 5
"""It has so long to do so."""


class AnsweringConnection(psycopg.Connection[Any]):
    """A connection whose waits end if the server hangs."""

    _connected_by: tuple[tuple[Any, ...], dict[str, Any]] = (), {}

    @classmethod
    def opened(cls, *arguments: Any, **named: Any) -> Self:
        """Connect, as `psycopg.connect` does.

        Raises:
            psycopg.Error: If it cannot.
        """
        connection = cls.connect(*arguments, **named)
        connection._connected_by = arguments, named | {"connect_timeout": ANSWER_SECONDS}
        return connection

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for what the driver does on this connection; each of its waits goes through here.

        Raises:
            OperationalError: If the server hangs. The connection is closed then.
        """
        return super().wait(self._heard(gen), interval, timeout)

    def _heard(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        look_at = time.monotonic() + LOOK_SECONDS
        try:
            state = next(gen)
            while True:
                ready = yield state
                if ready != READY_NONE:
                    look_at = time.monotonic() + LOOK_SECONDS
                elif time.monotonic() >= look_at:
                    self._check_answers()
                    look_at = time.monotonic() + LOOK_SECONDS
                state = gen.send(ready)
        except StopIteration as end:
            return end.value

    def _check_answers(self) -> None:
        arguments, named = self._connected_by
        try:
            psycopg.connect(*arguments, **named).close()
        except ConnectionTimeout:
            # Without it, nothing else would be waited for on this connection.
            self.pgconn.finish()
            raise OperationalError(f"it hangs: no answer for {LOOK_SECONDS:g} s, nor to a new connection") from None
        except psycopg.Error:
            return  # that is an answer, too
