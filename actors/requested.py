"""``execution_requested``: the gated actor on lane `executions`, whose body runs the first half of the saga.

In the flow: `execution_requested.send({...})` parks the event; a worker admits it in order and calls the body under its
grant; no body waits for a pod to end. What dies in between stands in `saga.py`.
"""

from typing import Any

import dramatiq
import structlog
from dramatiq import Actor, Message

from ..middleware import current_grant
from ..scheduler.errors import InvalidRequest
from ..scheduler.events import ExecutionRequestedEvent
from ..scheduler.queue import DEFAULT_LANE
from .pod_actors import create_pod
from .runtime import broker

log = structlog.get_logger(__name__)


class ExecutionActor(Actor[..., Any]):
    """An actor that takes an event as a dict or a model, and refuses a bad one before it is sent."""

    def message_with_options(
        self, *, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, **options: Any
    ) -> "Message[Any]":
        """Build the message; its ``options["execution_id"]`` names the execution.

        Raises:
            InvalidRequest: If it is not one valid event.
        """
        if len(args) != 1 or kwargs:
            raise InvalidRequest("arguments", "not one event", allowed="one dict or ExecutionRequestedEvent")
        event = ExecutionRequestedEvent.from_any(args[0])
        options.setdefault("execution_id", event.execution_id)
        return super().message_with_options(args=(event.model_dump(mode="json", exclude_none=True),), **options)


@dramatiq.actor(
    broker=broker,
    actor_class=ExecutionActor,
    queue_name=DEFAULT_LANE,
    runs_events=True,
    max_retries=5,
    min_backoff=1_000,
    max_backoff=60_000,
)
def execution_requested(event: dict[str, Any]) -> None:
    """Create the execution's pod under its grant, and hand the grant over to it."""
    grant = current_grant()
    if grant is None:
        raise RuntimeError("execution_requested runs under a grant only: send it, do not call it")
    create_pod(event, grant.attempt)
