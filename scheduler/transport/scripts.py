"""Calls Lua scripts: one round trip a call, safe to repeat when the reply was lost, over within one deadline.

Every call of a script with an effect carries a request token: a caller's name and its rising number. When the
connection breaks or times out, it is unknown whether the effect happened. The call is then repeated with the same
token and gets the same answer, so the effect happens once (F10). Only this layer repeats calls, so that a server that
hangs costs one deadline (F38). If the process dies here, the leases of its grants run out, and executions that it
parked wait.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import redis
from redis.exceptions import OutOfMemoryError

from ..keys import Keys
from ..model.errors import QueueUnavailable
from .callers import CALLERS, Caller
from .deadline import Until
from .direct_connection import Argument, DirectConnections, packed
from .error_translation import unavailable
from .library import Script, assemble

T = TypeVar("T")
DEADLINE_SECONDS: Final = 5.0
"""The time for one call in all, whatever the server does."""
REPEAT_PAUSES_SECONDS: Final = (0.05, 0.2, 0.75)
"""Pauses before a call whose reply was lost is repeated, if there is time; after the last one the call fails."""
_NO_FUNCTIONS: Final = "unknown command"
_NOT_LOADED: Final = "Function not found"
_LOADED_MEANWHILE: Final = "already exists"


class StaleCall(QueueUnavailable):
    """The call reached the server after a later call of its caller, as from a dead connection, and was refused."""


@dataclass(slots=True)
class Call:
    """One call, with its token: `run` may be repeated until it answers, and takes effect once."""

    scripts: "Scripts"
    script: Script
    arguments: tuple[Argument, ...]
    caller: Caller

    def __del__(self) -> None:
        # No code can run this call again, so its caller's name is free. Names are reused since each one leaves a key in
        # Redis. The attribute is missing if an exception was thrown into the thread during construction.
        with suppress(AttributeError):
            self.scripts.callers.give_back(self.caller)

    def run(self, *, ends: float | None = None) -> Any:
        """Make the call, and repeat it if its reply was lost.

        Args:
            ends: When the deadline is over, on the monotonic clock; None: it begins now.

        Raises:
            QueueUnavailable: If Redis did not answer, or has no memory left. The effect may or may not have happened;
                calling `run` again finds out.
        """
        return self.scripts.execute(self.script, self.arguments, ends=ends)


class Scripts:
    """The scripts of one queue on one server. Safe to share between threads and across forks."""

    def __init__(
        self,
        client: "redis.Redis",
        keys: Keys | None = None,
        *,
        deadline_seconds: float = DEADLINE_SECONDS,
        replaced_includes: Mapping[str, str] | None = None,
    ) -> None:
        self.deadline_seconds = deadline_seconds
        self.keys = keys or Keys()
        self.callers = CALLERS
        self._library = assemble(replaced_includes)
        self.connections = DirectConnections(client, deadline_seconds)

    def under(self, keys: Keys) -> "Scripts":
        """Return the same scripts on the same connections, for the queue with these keys."""
        other = copy(self)
        other.keys = keys
        return other

    @property
    def client(self) -> Any:  # redis-py types every reply as a union with its async twin
        """The client for plain commands, on the engine's own connections; within `repeat`, its deadline holds."""
        return self.connections.client

    def script(self, name: str, arguments: str) -> Script:
        """Return the script `name`, whose header must list exactly `arguments` (space-separated, without the token)."""
        script = self._library.scripts[name]
        if script.arguments != tuple(arguments.split()):
            raise TypeError(f"{name}.lua takes {script.arguments}, its wrapper gives {arguments}")
        return script

    def prepare(self, script: Script, *arguments: Argument) -> Call:
        """Return a call with a fresh token, which may be `run` until it answers."""
        caller = self.callers.take()
        return Call(self, script, self._with_token(script, arguments, caller), caller)

    def call(self, script: Script, *arguments: Argument) -> Any:
        """Call a script and return its answer.

        Raises:
            QueueUnavailable: If Redis did not answer, or refused.
        """
        if not script.takes_token:
            return self.execute(script, arguments)
        caller = self.callers.take()
        try:
            return self.execute(script, self._with_token(script, arguments, caller))
        finally:
            self.callers.give_back(caller)

    def execute(self, script: Script, arguments: tuple[Argument, ...], *, ends: float | None = None) -> Any:
        """Send one call, repeating it while its reply is lost."""
        return self.repeat(lambda: self.checked(self._evaluate(script, arguments)), ends=ends)

    def repeat(self, ask: Callable[[], T], *, ends: float | None = None) -> T:
        """Run commands that are safe to repeat, and repeat them while the server does not answer and there is time.

        Args:
            ask: Sends the commands and returns their result.
            ends: When the deadline is over, on the monotonic clock; None: it begins now.

        Raises:
            QueueUnavailable: If the server did not answer within the deadline, or refused.
        """
        ends = time.monotonic() + self.deadline_seconds if ends is None else ends
        pauses = iter(REPEAT_PAUSES_SECONDS)
        with Until(ends):
            while True:
                try:
                    return ask()
                except (redis.ConnectionError, redis.TimeoutError) as error:
                    pause = next(pauses, None)
                    if pause is None or time.monotonic() + pause >= ends:
                        raise unavailable(error) from error
                except redis.ResponseError as error:
                    raise unavailable(error) from error
                time.sleep(pause)

    def _evaluate(self, script: Script, arguments: tuple[Argument, ...]) -> Any:
        try:
            return self._send(script, arguments)
        except redis.ResponseError as error:
            if str(error).startswith(_NO_FUNCTIONS):
                raise QueueUnavailable(
                    "the server has no functions (FCALL): Redis 7.0 or newer or Valkey is needed"
                ) from error
            if not str(error).startswith(_NOT_LOADED):
                raise
        try:
            self._load()
        except OutOfMemoryError:
            # A server at maxmemory cannot load the library, but needs the scripts that free memory: run this one alone.
            return self.client.eval(self._library.alone(script), 1, self.keys.declared, *arguments)
        return self._send(script, arguments)

    def _send(self, script: Script, arguments: tuple[Argument, ...]) -> Any:
        if self.connections.is_direct:
            return self.connections.ask(self.packed(script, arguments))
        return self.client.execute_command("FCALL", script.function, 1, self.keys.declared, *arguments)

    def packed(self, script: Script, arguments: tuple[Argument, ...]) -> bytes:
        """Encode a call for the wire."""
        return packed(("FCALL", script.function, 1, self.keys.declared, *arguments))

    def _load(self) -> None:
        try:
            self.client.function_load(self._library.text)
        except redis.ResponseError as error:
            if _LOADED_MEANWHILE not in str(error):
                raise

    def close(self) -> None:
        """Close the connections that are kept between calls. The client stays open; a later call opens new ones."""
        self.connections.close()

    def _with_token(self, script: Script, arguments: tuple[Argument, ...], caller: Caller) -> tuple[Argument, ...]:
        return (caller.name, next(caller.numbers), *arguments) if script.takes_token else arguments

    def checked(self, answer: Any) -> Any:
        """Return a script's answer; raise StaleCall if it says that the call came too late."""
        if answer == [b"STALE_CALL"]:
            raise StaleCall("the call was overtaken by a later one of its caller")
        return answer
