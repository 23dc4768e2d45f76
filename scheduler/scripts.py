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
from redis.exceptions import NoScriptError
from redis.exceptions import TimeoutError as RedisTimeoutError

from .answering import answered
from .errors import QueueUnavailable
from .keys import Keys
from .script_source import ScriptSource, assemble
from .wire import Argument, Wire, packed

REPEAT_PAUSES_SECONDS: Final = (0.05, 0.2, 0.75)
"""Pauses before a call whose reply was lost is made again; then the caller is told."""


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
    source: ScriptSource
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
        return self.scripts.execute(self.source, self.arguments)


class Scripts:
    """The scripts of one queue on one server. Safe to share between threads and across forks."""

    def __init__(
        self, client: "redis.Redis", keys: Keys | None = None, *, replaced_includes: Mapping[str, str] | None = None
    ) -> None:
        self.client: Any = readable(client)  # redis-py types every reply as a union with its async twin
        self.keys = keys or Keys()
        self._replaced_includes = replaced_includes
        self.wire = Wire(self.client)
        self._heads: dict[str, bytes] = {}
        self._callers: deque[_Caller] = deque()

    def source(self, name: str, arguments: str) -> ScriptSource:
        """The script `name`, whose header must list exactly `arguments` (space-separated, without the token)."""
        source = assemble(name, self._replaced_includes)
        if source.arguments != tuple(arguments.split()):
            raise TypeError(f"{name}.lua takes {source.arguments}, its wrapper gives {arguments}")
        return source

    def prepare(self, source: ScriptSource, *arguments: Argument) -> Call:
        """A call with a fresh token that the caller may `run` until it answers."""
        caller = self._borrow()
        return Call(self, source, self._with_token(source, arguments, caller), caller)

    def call(self, source: ScriptSource, *arguments: Argument) -> Any:
        """Call a script and answer what it answers.

        Raises:
            QueueUnavailable: If Redis did not answer, or refused.
        """
        if not source.takes_token:
            return self.execute(source, arguments)
        caller = self._borrow()
        try:
            return self.execute(source, self._with_token(source, arguments, caller))
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

    def execute(self, source: ScriptSource, arguments: tuple[Argument, ...]) -> Any:
        """Send one call, repeating it while its reply is lost."""
        pauses = iter(REPEAT_PAUSES_SECONDS)
        while True:
            try:
                with answered():
                    return self.checked(self._evaluate(source, arguments))
            except QueueUnavailable as error:
                pause = next(pauses, None)
                if pause is None or not isinstance(error.__cause__, RedisConnectionError | RedisTimeoutError):
                    raise
                time.sleep(pause)

    def _evaluate(self, source: ScriptSource, arguments: tuple[Argument, ...]) -> Any:
        try:
            return self._send(source, arguments)
        except NoScriptError:
            self._load(source)
            return self._send(source, arguments)

    def _send(self, source: ScriptSource, arguments: tuple[Argument, ...]) -> Any:
        if self.wire.is_direct:
            return self.wire.ask(self.packed(source, arguments))
        fixed = self.keys.fixed
        return self.client.execute_command("EVALSHA", source.sha, len(fixed), *fixed, *arguments)

    def packed(self, source: ScriptSource, arguments: tuple[Argument, ...]) -> bytes:
        """A call as it goes over the wire."""
        fixed = self.keys.fixed
        head = self._heads.get(source.sha)
        if head is None:
            head = self._heads[source.sha] = packed(("EVALSHA", source.sha, len(fixed), *fixed))
        return b"*%d\r\n%b%b" % (3 + len(fixed) + len(arguments), head, packed(arguments))

    def _load(self, source: ScriptSource) -> None:
        self.client.script_load(source.text)

    def _with_token(
        self, source: ScriptSource, arguments: tuple[Argument, ...], caller: _Caller
    ) -> tuple[Argument, ...]:
        return (caller.name, next(caller.numbers), *arguments) if source.takes_token else arguments

    def checked(self, answer: Any) -> Any:
        """The answer of a script, unless it says that the call came too late."""
        if answer == [b"STALE_CALL"]:
            raise StaleCall("the call was overtaken by a later one of its caller")
        return answer
