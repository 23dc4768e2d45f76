"""``push``: sends a task, a plain dict, to whatever process handles its queue, and says whether it arrived.

In the flow: `push_task` → `broker.enqueue` → park.lua, as for any gated message. The sender needs no actor: the message
names the one that `task_handler` declares for the queue, in other processes perhaps. If the process dies before the
park, nothing was kept; after it, the task waits. A lost answer is asked for again under the same request token, so one
call is accepted once; one that got no answer at all may have been accepted, and an `execution_id` makes its repetition
harmless.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, cast

from dramatiq import Broker, Message

from ..configs.logger import Logger
from ..scheduler.model.errors import DuplicateExecution, InvalidRequest, QueueRejected, shown
from ..scheduler.model.identifiers import action_of, check_lane
from ..scheduler.model.priority import Priority
from .bands import PriorityBands
from .errors import UNAVAILABLE
from .intake.actor_options import GatedActor
from .intake.declared_limits import Declared

log = Logger(__name__)
DEFAULT_PRIORITY: Final = "low"
_ACTORS: Final = "task."


def actor_of(queue: str) -> str:
    """The name of the actor that handles the tasks of a queue."""
    return f"{_ACTORS}{queue}"


def _handled_elsewhere(queue: str) -> GatedActor:
    """That actor, as a process knows it that only pushes."""
    name = actor_of(queue)
    return GatedActor(
        name=name,
        lane=queue,
        band=Priority.LOW,
        action=action_of(name),
        gates=(),
        declared=Declared({}, {}),
        signature=inspect.signature(_handler),
        runs_events=False,
        timeout_ms=0,
        max_age_ms=None,
    )


def _handler(payload: dict[str, Any]) -> None: ...


def check_handler(queue: str, handler: Callable[..., Any]) -> None:
    """Check that a function can be called with a payload and nothing else.

    Raises:
        InvalidRequest: If it cannot.
    """
    try:
        inspect.signature(handler).bind({})
    except TypeError as error:
        problem = f"the handler of {queue!r} cannot be called with a payload"
        allowed = f"one argument, as in handle(payload); {error}"
        raise InvalidRequest("handler", problem, allowed=allowed) from None


def message_of_task(
    queue: str,
    payload: Mapping[str, Any],
    priority: object = DEFAULT_PRIORITY,
    *,
    execution_id: str | None = None,
    scheduled_at: datetime | str | None = None,
) -> "Message[Any]":
    """Return the message of a task.

    Raises:
        InvalidRequest: If the queue's name, the payload or the priority is not allowed.
    """
    name = checked_queue(queue)
    options: dict[str, Any] = {"band": Priority.parse(priority).name}
    if execution_id is not None:
        options["execution_id"] = execution_id
    if scheduled_at is not None:
        options["scheduled_at"] = scheduled_at
    return Message(
        queue_name=name, actor_name=actor_of(name), args=(_checked_payload(payload),), kwargs={}, options=options
    )


def push(broker: Broker, message: "Message[Any]") -> bool:
    """Send a task's message.

    Returns:
        Whether Redis has accepted it, now or, under the same `execution_id`, before. False: it refused (a full queue),
        or did not answer; that is logged, without the payload.

    Raises:
        InvalidRequest: If something about it is not allowed; nothing was kept.
    """
    _make_known(broker, message.queue_name)
    try:
        sent = cast("Message[Any]", broker.enqueue(message))  # pyright: ignore[reportUnknownMemberType]
    except InvalidRequest:
        raise
    except DuplicateExecution as known:
        log.info("task_known", queue=message.queue_name, execution_id=known.execution_id)
        return True
    except (QueueRejected, *UNAVAILABLE) as error:
        log.warning("task_not_pushed", queue=message.queue_name, error=str(error))
        return False
    # Without one, it was kept for later: a hook after a body, or a group, has its messages sent when that is over.
    return "execution_id" in sent.options


def _make_known(broker: Broker, queue: str) -> None:
    bands = next((each for each in broker.middleware if isinstance(each, PriorityBands)), None)
    if bands is not None:
        bands.gated.know(_handled_elsewhere(queue))
    elif actor_of(queue) not in getattr(broker, "gated", ()):  # the one in memory, of tests, has handlers only
        problem = f"{type(broker).__name__} does not know the tasks of {queue}"
        raise InvalidRequest("broker", problem, allowed="a BandedRedisBroker; in memory, one with the queue's handler")


def checked_queue(queue: object) -> str:
    """Return the value if it may name a queue; else raise InvalidRequest."""
    try:
        return check_lane(queue)
    except InvalidRequest as error:
        raise InvalidRequest("queue", f"{shown(queue)} is no queue's name", allowed=error.allowed) from None


def _checked_payload(payload: object) -> dict[str, Any]:
    if not isinstance(payload, dict):
        raise InvalidRequest("payload", f"{shown(payload)} is no dict", allowed='a dict like {"task_id": 7}')
    allowed = "what JSON has: dicts with texts as keys, lists, texts, finite numbers, True, False, None"
    try:
        json.dumps(payload, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        # The error's text may contain a part of the payload.
        raise InvalidRequest("payload", f"it is not JSON: {type(error).__name__}", allowed=allowed) from None
    given = cast("dict[Any, Any]", payload)
    if not _has_texts_as_keys(given):  # JSON would turn them into texts, and the handler would look for others
        raise InvalidRequest("payload", "a key in it is no text", allowed=allowed)
    return given


def _has_texts_as_keys(payload: dict[Any, Any]) -> bool:
    left: list[Any] = [payload]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            of_dict = cast("dict[Any, Any]", each)
            if not all(isinstance(key, str) for key in of_dict):
                return False
            left += of_dict.values()
        elif isinstance(each, list | tuple):
            left += cast("list[Any]", each)
    return True
