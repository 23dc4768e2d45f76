"""Actor classes whose one argument is an event: a dict or a model, checked before anything is sent.

In the flow: `execution_requested.send({...})` and the reports of ends start here. An invalid event raises
InvalidRequest in the caller, and nothing is queued. A message that is sent holds a valid event as JSON.
"""

from datetime import timedelta
from typing import Any, ClassVar, Final, cast

from dramatiq import Message

from ..middleware import Actor
from ..scheduler.events import (
    ExecutionCancelledEvent,
    ExecutionCompletedEvent,
    ExecutionFailedEvent,
    ExecutionRequestedEvent,
    ExecutionTimeoutEvent,
)
from ..scheduler.events.event import Event
from ..scheduler.model.errors import InvalidRequest, QueueUnavailable, shown
from ..scheduler.server.connection import server_advice
from .runtime import settings

Given = Event | dict[str, Any]
"""An event as it may be sent, and as it arrives."""

ATTEMPT_MAX: Final = 10**9 - 1
FIELD_OF_OPTION: Final = {
    "band": "priority",
    "user_id": "metadata.user_id",
    "gates": "gates",
    "scheduled_at": "scheduled_at",
}
"""Message options of an ordinary gated actor, and the fields of the request event that stand for them here."""


class EventActor(Actor[..., Any]):
    """An actor that takes one event."""

    model: ClassVar[type[Event]]

    def send_with_options(
        self,
        *,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        delay: "timedelta | int | None" = None,
        **options: Any,
    ) -> "Message[Any]":
        """Send the event.

        Raises:
            QueueRejected: If the event is not accepted; nothing was kept.
            QueueUnavailable: If Redis did not answer; the error also says how to start the server or name another.
        """
        try:
            return super().send_with_options(args=args, kwargs=kwargs, delay=delay, **options)
        except QueueUnavailable as error:
            raise QueueUnavailable(f"{error}; {server_advice(settings)}") from error

    def message_with_options(
        self, *, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, **options: Any
    ) -> "Message[Any]":
        """Build the message.

        Raises:
            InvalidRequest: If the arguments are not one valid event.
        """
        if len(args) != 1 or kwargs:
            raise InvalidRequest("arguments", "not one event", allowed=f"one dict, or {self.model.__name__}")
        event = self.checked(args[0], options)
        return super().message_with_options(args=(event.model_dump(mode="json", exclude_none=True),), **options)

    def checked(self, event: object, options: dict[str, Any]) -> Event:
        """Return the event, if it may be sent with these options."""
        return self.model.from_any(event)


class EndActor(EventActor):
    """An actor that takes the report of an attempt's end."""

    def checked(self, event: object, options: dict[str, Any]) -> Event:
        """Return the event, if it names its attempt; else a late report could free a later attempt's slot (D8, D33)."""
        end = super().checked(event, options)
        attempt: int = getattr(end, "attempt", 0)
        if not 1 <= attempt <= ATTEMPT_MAX:
            raise InvalidRequest(
                "attempt",
                f"{shown(attempt)} is not the attempt that ended",
                allowed=f"1 to {ATTEMPT_MAX}: the one it was granted",
                execution_id=end.execution_id,
            )
        return end


class CompletedActor(EndActor):
    """Takes ExecutionCompletedEvent."""

    model = ExecutionCompletedEvent


class FailedActor(EndActor):
    """Takes ExecutionFailedEvent."""

    model = ExecutionFailedEvent


class TimeoutActor(EndActor):
    """Takes ExecutionTimeoutEvent."""

    model = ExecutionTimeoutEvent


class CancelledActor(EventActor):
    """Takes ExecutionCancelledEvent: the execution is to end, whatever attempt it is at."""

    model = ExecutionCancelledEvent


class RequestActor(EventActor):
    """Takes ExecutionRequestedEvent; the message's ``options["execution_id"]`` names the execution."""

    model = ExecutionRequestedEvent

    def checked(self, event: object, options: dict[str, Any]) -> Event:
        """Return the event. An option that duplicates a field of the event is refused."""
        for option in FIELD_OF_OPTION.keys() & options.keys():
            raise InvalidRequest(
                option, "is not an option of this actor", allowed=f"{FIELD_OF_OPTION[option]} of the event"
            )
        named = options.get("execution_id")
        if named is not None and isinstance(event, dict):
            event = {"execution_id": named} | cast("dict[str, object]", event)
        request = super().checked(cast("object", event), options)
        if named is not None and named != request.execution_id:
            raise InvalidRequest(
                "execution_id", f"the option {shown(named)} is not the event's {shown(request.execution_id)}"
            )
        options["execution_id"] = request.execution_id
        return request
