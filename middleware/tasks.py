"""``push_task`` and ``task_handler``: a queue of tasks, plain dicts, without a line about brokers or actors.

In the flow: one process pushes a dict, another, that runs the module with the handler, gets it. Beneath is a gated
actor of a lane of the queue's name, with its bands, limits, retries and dead letters. Where an application has set no
broker, the one that the settings describe is made and set, at the first push or handler; that calls no server. If the
process dies, what was pushed waits, and what ran is tried again.
"""

import threading
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar, Unpack, cast, overload

import dramatiq.broker
from dramatiq import Broker

from ..scheduler.model.errors import InvalidRequest
from .actor import Actor, actor
from .broker import BandedRedisBroker
from .options import ActorOptions
from .pushing import DEFAULT_PRIORITY, actor_of, check_handler, checked_queue, message_of_task, push

MAX_RETRIES: Final = 3

R = TypeVar("R")
Payload = dict[str, Any]
_lock = threading.Lock()


def push_task(
    queue: str,
    payload: Mapping[str, Any],
    priority: str | int = DEFAULT_PRIORITY,
    *,
    execution_id: str | None = None,
    scheduled_at: datetime | str | None = None,
    broker: Broker | None = None,
) -> bool:
    """Send a task to a queue, whose `task_handler` gets the payload.

    Args:
        queue: The queue.
        payload: A dict that JSON can hold.
        priority: ``high`` or ``low``, or another band's name, in any case.
        execution_id: What the task is called. A second push under a name that is known changes nothing, and is True.
        scheduled_at: When it starts at the earliest, as an aware datetime or ISO 8601.
        broker: The broker; by default the one set with `dramatiq.set_broker`, and where none is, that of the settings.

    Returns:
        True once Redis has accepted it. False if it refused (a full queue) or did not answer, which is logged without
        the payload; in the second case it may have accepted it all the same.

    Raises:
        InvalidRequest: A ValueError, if the queue, the payload, the priority or the time is not allowed.
    """
    message = message_of_task(queue, payload, priority, execution_id=execution_id, scheduled_at=scheduled_at)
    return push(broker or _broker(), message)


class TaskDecorator(Protocol):
    """The decorator that `task_handler` returns."""

    @overload
    def __call__(self, fn: Callable[[Payload], Awaitable[R]], /) -> Actor[[Payload], R]: ...

    @overload
    def __call__(self, fn: Callable[[Payload], R], /) -> Actor[[Payload], R]: ...


def task_handler(
    queue: str,
    *,
    broker: Broker | None = None,
    **options: Unpack[ActorOptions],
) -> TaskDecorator:
    """Make a function the handler of a queue's tasks: it gets the payload. A queue has one.

    A task whose handler raises is tried again, after a pause that grows and is never quite the same (`min_backoff`,
    `max_backoff` in milliseconds, as in Dramatiq); after the last retry it has failed, and is a dead letter.

    Args:
        queue: The queue.
        broker: As for `push_task`.
        **options: Those of `actor`, such as ``time_limit``, ``limits`` or ``max_retries``, which is 3 unless given.

    Raises:
        InvalidRequest: If the queue's name or an option is not allowed, the queue has a handler already, or the
            function cannot be called with a payload.
    """
    name = actor_of(checked_queue(queue))
    owner = broker or _broker()
    if name in owner.actors:
        raise InvalidRequest("queue", f"{queue!r} has a handler already", allowed="one for each queue")
    options.setdefault("band", "LOW")
    options.setdefault("max_retries", MAX_RETRIES)
    declare = actor(queue_name=queue, actor_name=name, broker=owner, **options)

    def handle(fn: Callable[[Payload], Any]) -> Any:
        check_handler(queue, fn)
        return declare(fn)

    return cast("TaskDecorator", handle)


def _broker() -> Broker:
    with _lock:
        if dramatiq.broker.global_broker is None:
            dramatiq.set_broker(BandedRedisBroker.from_settings())
        return dramatiq.broker.get_broker()
