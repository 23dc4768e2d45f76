"""Derives the execution id of a message: the one that its sender named, or a new one for each sending.

In the flow: asked before a message is parked. Dramatiq sends one message many times: a pipeline that runs again, a
plain producer that sends again. Each of these is an execution; but the same sending may reach us twice (parked, and the
process died before it was acknowledged; a hook that runs again after a crash), and is one. So an execution is named
after the message and where it came from: the delivery that its broker stamped, or the execution whose hook sent it.
The message's own id stays what results and groups go by. Pure.
"""

import base64
import hashlib
import re
from typing import Any, Final

from dramatiq import Message

DELIVERY_ID: Final = "redis_message_id"
"""The option in which Dramatiq's Redis broker names each sending of a message."""
DIGEST_CHARS: Final = 12
LONGEST_ID_CHARS: Final = 128
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._:-]")


def digest(text: str) -> str:
    """What stands for a text in an id."""
    brief = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=DIGEST_CHARS * 3 // 4).digest()
    return base64.urlsafe_b64encode(brief).decode()


def derived_id(name: str, origin: str) -> str:
    """The id of what is sent under a name from one origin: begins with the name, and is the same each time."""
    return f"{_beginning(name)}." + digest(f"{name}\n{origin}")


def named_id(message: "Message[Any]") -> object:
    """The id that a message's sender gave its execution; None if it is ours, from when it was sent before."""
    given: object = message.options.get("execution_id")
    return None if isinstance(given, str) and _is_stamp(given, message.message_id) else given


def execution_id_of(message: "Message[Any]", origin: str = "", *, is_delivered: bool = False) -> Any:
    """The id of the execution that a message stands for. One that a sender named may be anything.

    Args:
        message: As it was sent, or delivered.
        origin: What it came from, if that is known; else its own id is the guard against a repetition.
        is_delivered: A broker delivers it, or it runs: if our own side sent it, the id that it got then is meant.
    """
    given = message.options.get("execution_id") if is_delivered else named_id(message)
    if given is not None:
        return given
    if origin:
        return derived_id(message.message_id, origin)
    return message.message_id if _is_fit(message.message_id) else derived_id(message.message_id, "")


def delivery_of(message: "Message[Any]") -> str:
    """What names the delivery of a message; empty if its broker stamps none."""
    return str(message.options.get(DELIVERY_ID) or "")


def _is_fit(name: str) -> bool:
    return 0 < len(name) <= LONGEST_ID_CHARS and not _UNFIT.search(name)


def _beginning(name: str) -> str:
    return _UNFIT.sub("-", name[: LONGEST_ID_CHARS - DIGEST_CHARS - 1])


def _is_stamp(given: str, message_id: str) -> bool:
    if given == message_id:
        return True
    beginning, dot, ending = given.rpartition(".")
    return dot == "." and len(ending) == DIGEST_CHARS and beginning == _beginning(message_id)
