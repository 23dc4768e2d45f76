"""Messages that are dropped since another execution has their unique key: their senders are told by the message itself.

In the flow: the message that `send` returns names the other execution where an accepted one names its own. Nothing of a
dropped one was kept.
"""

from typing import Any

from dramatiq import Broker, Message

from ...scheduler.model.errors import NotUnique
from .envelope import DROPPED, HINT, HintKind


def drop(broker: Broker, message: "Message[Any]", conflict: NotUnique) -> None:
    """Mark a message as dropped.

    Raises:
        NotUnique: If its sender wants to be told by an exception.
    """
    if not conflict.is_dropped:
        raise conflict
    message.options.update({"execution_id": conflict.other, DROPPED: True})
    if not getattr(broker, "pulls_lanes", False):
        message.options[HINT] = HintKind.LANE.value  # its broker delivers it all the same


def undrop(message: "Message[Any]") -> None:
    """Let a message that was dropped be sent again: the id that it names is not its own."""
    if message.options.pop(DROPPED, False):
        message.options.pop("execution_id", None)
