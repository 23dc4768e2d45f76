"""Calling the Lua scripts: one round trip a call, safe to repeat when the reply was lost.

Every call of a script with an effect carries a request token: a caller's name and its rising number. When the
connection breaks or times out, nobody knows whether the effect happened; the same call is made again with the same
token and gets the same answer, so the effect happens once (F10). If the process dies here, its grants run out of
their leases, and what it parked waits.
"""

import itertools
import os
import secrets
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import OutOfMemoryError
from redis.exceptions import TimeoutError as RedisTimeoutError

from .answering import answered
from .errors import QueueUnavailable
from .keys import Keys
from .library import Script, assemble
from .wire import Argument, Wire, packed

REPEAT_PAUSES_SECONDS: Final = (0.05, 0.2, 0.75)
"""Pauses before a call whose reply was lost is made again; then the caller is told."""
_NO_FUNCTIONS: Final = "unknown command"
_NOT_LOADED: Final = "Function not found"
_LOADED_MEANWHILE: Final = "already exists"


class StaleCall(QueueUnavailable):
    """A call was overtaken by a later one of its caller: it lay in a dead connection and was refused."""


class _Caller:
    """A name and its rising numbers, of one process: a fork must not use the same tokens."""

    __slots__ = ("name", "numbers", "process_id")

    def __init__(self) -> None:
        self.name = secrets.token_urlsafe(9).encode()
        self.numbers = itertools.count(1)
        self.process_id = os.getpid()


def readable(client: "redis.Redis") -> "redis.Redis":
    """The client itself, or one to the same server that leaves replies as bytes, as payloads need it."""
    pool = client.connection_pool
    options: dict[str, Any] = dict(pool.connection_kwargs)
    if not options.get("decode_responses"):
        return client
    options["decode_responses"] = False
    return redis.Redis(connection_pool=redis.ConnectionPool(connection_class=pool.connection_class, **options))


@dataclass(slots=True)
class Call:
    """One call, with its token: `run` may be repeated until it answers, and takes effect once."""

    scripts: "Scripts"
    script: Script
    arguments: tuple[Argument, ...]
    caller: _Caller

    def __del__(self) -> None:
        # Nobody can run it again, so the caller's name is free. A name a call would leave a key a call in Redis.
        self.scripts.give_back(self.caller)

    def run(self) -> Any:
        """Make the call, again if its reply was lost.

        Raises:
            QueueUnavailable: If Redis did not answer, or has no memory left; whether the effect happened is unknown:
                calling `run` again finds out.
        """
        return self.scripts.execute(self.script, self.arguments)


class Scripts:
    """The scripts of one queue on one server. Safe to share between threads and across forks."""

    def __init__(
        self, client: "redis.Redis", keys: Keys | None = None, *, replaced_includes: Mapping[str, str] | None = None
    ) -> None:
        self.client: Any = readable(client)  # redis-py types every reply as a union with its async twin
        self.keys = keys or Keys()
        self._library = assemble(replaced_includes)
        self.wire = Wire(self.client)
        self._heads: dict[str, bytes] = {}
        self._callers: deque[_Caller] = deque()

    def script(self, name: str, arguments: str) -> Script:
        """The script `name`, whose header must list exactly `arguments` (space-separated, without the token)."""
        script = self._library.scripts[name]
        if script.arguments != tuple(arguments.split()):
            raise TypeError(f"{name}.lua takes {script.arguments}, its wrapper gives {arguments}")
        return script

    def prepare(self, script: Script, *arguments: Argument) -> Call:
        """A call with a fresh token that the caller may `run` until it answers."""
        caller = self._borrow()
        return Call(self, script, self._with_token(script, arguments, caller), caller)

    def call(self, script: Script, *arguments: Argument) -> Any:
        """Call a script and answer what it answers.

        Raises:
            QueueUnavailable: If Redis did not answer, or refused.
        """
        if not script.takes_token:
            return self.execute(script, arguments)
        caller = self._borrow()
        try:
            return self.execute(script, self._with_token(script, arguments, caller))
        finally:
            self.give_back(caller)

    def give_back(self, caller: _Caller) -> None:
        """Let later calls use a caller's name. If its last call is still under way somewhere, it will be refused."""
        self._callers.append(caller)

    def _borrow(self) -> _Caller:
        while True:
            try:
                caller = self._callers.pop()
            except IndexError:
                return _Caller()
            if caller.process_id == os.getpid():
                return caller

    def execute(self, script: Script, arguments: tuple[Argument, ...]) -> Any:
        """Send one call, repeating it while its reply is lost."""
        pauses = iter(REPEAT_PAUSES_SECONDS)
        while True:
            try:
                with answered():
                    return self.checked(self._evaluate(script, arguments))
            except QueueUnavailable as error:
                pause = next(pauses, None)
                if pause is None or not isinstance(error.__cause__, RedisConnectionError | RedisTimeoutError):
                    raise
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
            # The server would never drain without what may run at maxmemory; the library is loaded when it has.
            fixed = self.keys.fixed
            return self.client.eval(self._library.alone(script), len(fixed), *fixed, *arguments)
        return self._send(script, arguments)

    def _send(self, script: Script, arguments: tuple[Argument, ...]) -> Any:
        if self.wire.is_direct:
            return self.wire.ask(self.packed(script, arguments))
        fixed = self.keys.fixed
        return self.client.execute_command("FCALL", script.function, len(fixed), *fixed, *arguments)

    def packed(self, script: Script, arguments: tuple[Argument, ...]) -> bytes:
        """A call as it goes over the wire."""
        fixed = self.keys.fixed
        head = self._heads.get(script.function)
        if head is None:
            head = self._heads[script.function] = packed(("FCALL", script.function, len(fixed), *fixed))
        return b"*%d\r\n%b%b" % (3 + len(fixed) + len(arguments), head, packed(arguments))

    def _load(self) -> None:
        try:
            self.client.function_load(self._library.text)
        except redis.ResponseError as error:
            if _LOADED_MEANWHILE not in str(error):
                raise

    def _with_token(self, script: Script, arguments: tuple[Argument, ...], caller: _Caller) -> tuple[Argument, ...]:
        return (caller.name, next(caller.numbers), *arguments) if script.takes_token else arguments

    def checked(self, answer: Any) -> Any:
        """The answer of a script, unless it says that the call came too late."""
        if answer == [b"STALE_CALL"]:
            raise StaleCall("the call was overtaken by a later one of its caller")
        return answer
