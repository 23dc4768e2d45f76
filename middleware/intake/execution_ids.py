"""Derives the execution id of a message: the one that its sender chose, or a new one for each sending.

In the flow: called before a message is parked. One message may be sent many times: a pipeline runs again, a plain
producer sends again. Each sending is an execution of its own. But one sending may reach us twice (the process died
between park and acknowledgement; a hook ran again after a crash), and is still one execution. So an execution id is
derived from the message and its origin: the delivery that its broker stamped, or the execution whose hook sent it.
Results and groups still use the message's own id. Pure functions.
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
    """Return a short hash of a text, for use in an id."""
    brief = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=DIGEST_CHARS * 3 // 4).digest()
    return base64.urlsafe_b64encode(brief).decode()


def derived_id(name: str, origin: str) -> str:
    """Return the id for a name and an origin: it begins with the name, and is the same each time."""
    return f"{_beginning(name)}." + digest(f"{name}\n{origin}")


def named_id(message: "Message[Any]") -> object:
    """Return the execution id that a message's sender chose; None if there is none, or we set it at an earlier send."""
    given: object = message.options.get("execution_id")
    return None if isinstance(given, str) and _is_stamp(given, message.message_id) else given


def execution_id_of(message: "Message[Any]", origin: str = "", *, is_delivered: bool = False) -> Any:
    """Return the id of a message's execution. An id that a sender chose is not checked and may be any object.

    Args:
        message: The message, as it was sent or delivered.
        origin: The delivery or execution it came from, if known; else the message's own id guards against repetition.
        is_delivered: A broker delivers it, or it runs: if we sent it, the id that we set then counts.
    """
    given = message.options.get("execution_id") if is_delivered else named_id(message)
    if given is not None:
        return given
    if origin:
        return derived_id(message.message_id, origin)
    return message.message_id if _is_fit(message.message_id) else derived_id(message.message_id, "")


def delivery_of(message: "Message[Any]") -> str:
    """Return the id of a message's delivery; empty if its broker stamps none."""
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
