"""What whoever sent a message is told of its end, and that it was."""

from typing import Any

import pytest
from dramatiq import Message
from dramatiq.results import ResultFailure

from bandmaster import ExecutionQueueService
from waiting import GENEROUS_MS


def raised(message: Any) -> tuple[str, str]:
    """What `get_result` tells: type and message."""
    with pytest.raises(ResultFailure) as caught:
        message.get_result(block=True, timeout=GENEROUS_MS)
    return caught.value.orig_exc_type, caught.value.orig_exc_msg


def is_told(queue: ExecutionQueueService, message: "Message[Any]") -> bool:
    return any(entry.verb == "tell" for entry in queue.journal.of(message.message_id))
