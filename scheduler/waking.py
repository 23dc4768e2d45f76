"""Waiting for a lane's wake token, with a call right behind it: the server makes that the moment the token comes.

In the flow: a consumer with free threads and nothing to do rests here, with its next admission. Both commands go out
together, and the server begins the second when the first is answered, so no round trip lies between a token and what
it stands for. When no token comes in time, the call is made all the same. If a connection or an answer is lost, the
call is made again, with its token, and gives what was admitted. If the process dies while it waits, the server drops
both with the connection; if it cannot tell (the process sleeps or left a child behind, the machine vanished), what is
admitted runs out of its lease: so a consumer asks for no more than the one slot that a token stands for.
"""

from typing import Any, Final

import redis

from .answering import answered
from .scripts import Call, Scripts
from .wire import packed_command

SOCKET_TIMEOUT_SECONDS: Final = 5.0
"""Of a client that names none."""


def bounded(client: Any, seconds: float) -> float:
    """How long a blocking command may wait, so that the client does not take the server for dead."""
    timeout: float | None = client.connection_pool.connection_kwargs.get("socket_timeout")
    return min(seconds, (timeout or SOCKET_TIMEOUT_SECONDS) / 2)


def when_woken(scripts: Scripts, lane: str, seconds: float, call: Call) -> tuple[bytes | None, Any]:
    """Wait for a lane's wake token and make a call.

    Args:
        scripts: On whose server.
        lane: Whose token.
        seconds: At most so long, nor longer than half the client's socket timeout.
        call: Made when the token comes, or the time is over.

    Returns:
        The token, None if none came; and the call's answer.

    Raises:
        QueueUnavailable: If Redis did not answer; `call.run` finds out what became of the call.
    """
    wait = ("BLPOP", scripts.keys.wake(lane), bounded(scripts.client, seconds))
    if not scripts.wire.is_direct:
        with answered():
            popped = scripts.client.execute_command(*wait)
        return _token(popped), call.run()
    try:
        both = packed_command(wait), scripts.packed(call.script, call.arguments)
        popped, answer = scripts.wire.ask_in_turn(*both)
    except (redis.ConnectionError, redis.TimeoutError):
        return None, call.run()  # which is repeated, while what waits may have lain idle for long
    with answered():
        if isinstance(popped, redis.ResponseError):
            raise popped
    if isinstance(answer, redis.ResponseError):
        answer = call.run()  # the server may have forgotten the script: this knows what to do
    return _token(popped), scripts.checked(answer)


def _token(popped: list[bytes] | None) -> bytes | None:
    return popped[1] if popped else None
