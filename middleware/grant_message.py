"""From a grant to the message whose actor runs it: the stored message, with its event put back in, or one made for it.

In the flow: after admission, in the process that will run or dispatch it. A grant whose message cannot be read is ended
by its caller: it holds a slot and would otherwise come again and again.
"""

import json
from collections.abc import Mapping
from typing import Any

from dramatiq import Message

from ..scheduler.errors import InvalidRequest
from ..scheduler.grants import Grant
from .requests import GatedActor


def message_of(grant: Grant, lane: str, gated: Mapping[str, GatedActor]) -> "Message[Any]":
    """The message of a grant.

    Args:
        grant: As admitted.
        lane: Its lane.
        gated: The gated actors by name.

    Raises:
        InvalidRequest: If an event was enqueued without a message and no actor of the lane runs events.
        DecodeError: If the stored message cannot be read.
    """
    if grant.message is None:
        runner = next((actor for actor in gated.values() if actor.runs_events and actor.lane == lane), None)
        if runner is None:
            raise InvalidRequest("lane", f"no actor of lane {lane} runs events here")
        message: Message[Any] = Message(
            queue_name=lane, actor_name=runner.name, args=(), kwargs={}, options={}, message_id=grant.execution_id
        )
    else:
        message = Message.decode(grant.message)
    if grant.event is not None:
        message = message.copy(args=(json.loads(grant.event),))
    return message.copy(options={"execution_id": grant.execution_id})
