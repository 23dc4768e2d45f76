"""Sends what hooks after a body could not send while Redis was away: a pipeline's next step, a callback.

In the flow: Dramatiq logs and ignores a hook's exception, so the next step would be lost. Such a message is kept on the
entry of the body's grant, and sent before the slot is given back. If the process dies before that, the execution is
reaped and runs again, and so do its hooks; a message that was accepted after all is accepted once.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dramatiq import Message

from ...configs.logger import Logger
from ...scheduler.model.errors import QueueRejected
from .context import current_entry, is_settling
from .table import Entry

log = Logger(__name__)
Enqueue = Callable[["Message[Any]", "int | None"], object]


def keep_unsent(message: "Message[Any]", delay: int | None, error: BaseException) -> bool:
    """Keep a message that Redis did not answer for, if a hook of a body under a grant sent it.

    Args:
        message: The message.
        delay: Its delay, in milliseconds.
        error: Why it was not sent.

    Returns:
        Whether it is sent before the settlement; else nobody sends it.
    """
    entry = current_entry()
    if entry is None or not is_settling():
        return False
    if all(kept.message_id != message.message_id for kept, _ in entry.unsent):
        log.warning("follow_up_deferred", execution_id=entry.grant.execution_id, error=str(error))
        entry.unsent.append((message, delay))
    return True


def send_unsent(entry: Entry, enqueue: Enqueue) -> None:
    """Send what is kept, in order.

    Raises:
        QueueUnavailable: If Redis did not answer; call again.
    """
    while entry.unsent:
        with suppress(QueueRejected):  # logged and buried where it was refused
            enqueue(*entry.unsent[0])
        entry.unsent.pop(0)
