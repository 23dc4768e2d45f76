"""Waiting for a lane's wake token, with a call right behind it: the server makes that the moment the token comes.

In the flow: a consumer with free threads and nothing to do rests here, with its next admission. Both commands go out
together, and the server begins the second when the first is answered, so no round trip lies between a token and what
it stands for. When no token comes, the call is made all the same. If the process dies while it waits, the server drops
both with the connection; if the machine vanishes and the server cannot tell, what it admits runs out of its lease. If
an answer is lost, the caller makes the call again, with its token, and gets what was admitted.
"""

from typing import Any, Final

import redis

from .answering import answered
from .scripts import Call, Scripts
from .wire import packed

SOCKET_TIMEOUT_SECONDS: Final = 5.0
"""Of a client that names none."""


def bounded(client: Any, seconds: float) -> float:
    """How long a blocking command may wait, so that the client does not take the server for dead."""
    timeout: float | None = client.connection_pool.connection_kwargs.get("socket_timeout")
    return min(seconds, (timeout or SOCKET_TIMEOUT_SECONDS) / 2)


def when_woken(scripts: Scripts, lane: str, seconds: float, call: Call) -> tuple[bytes | None, Any]:
    """Wait for a lane's wake token, for so long at most, and make a call.

    Returns:
        The token, None if none came; and the call's answer.

    Raises:
        QueueUnavailable: If Redis did not answer; `call.run` finds out what became of the call.
    """
    wait = ("BLPOP", scripts.keys.wake(lane), bounded(scripts.client, seconds))
    with answered():
        if scripts.wire.is_direct:
            popped, answer = scripts.wire.ask_in_turn(_command(wait), scripts.packed(call.script, call.arguments))
        else:
            popped, answer = scripts.client.execute_command(*wait), None
        if isinstance(popped, redis.ResponseError):
            raise popped
    if answer is None or isinstance(answer, redis.ResponseError):
        answer = call.run()  # the server may have forgotten the script: this knows what to do
    return popped[1] if popped else None, scripts.checked(answer)


def _command(arguments: tuple[str | float, ...]) -> bytes:
    return b"*%d\r\n%b" % (len(arguments), packed(arguments))
