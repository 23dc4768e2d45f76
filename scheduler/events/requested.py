"""``ExecutionRequestedEvent``: the request to run a script or a command, with everything needed to run it later.

It is the argument of ``execution_requested.send`` and of ``ExecutionQueueService.enqueue``, and Redis keeps it as
``exec_queue:event:{id}``. Only `script` or `command` is required. The process that creates the pod fills missing values
(image, runtime, resources) from its own settings, so that a caller needs no settings.
"""

from datetime import UTC, datetime
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from ..model.errors import InvalidRequest
from ..model.identifiers import new_execution_id
from ..model.priority import Priority
from ..model.quantity import quantity_value
from .event import EVENT_MAX_BYTES, Event, Part, check_size
from .fields import (
    DEFAULT_ACTION,
    TIMEOUT_MAX_SECONDS,
    Action,
    Command,
    ExecutionId,
    FileName,
    Gates,
    Image,
    ItemIds,
    Labels,
    Priorities,
    Quantity,
    Runtime,
    Script,
    Traceparent,
    Tracestate,
    UserId,
    UtcTime,
    Word,
)

ITEMS_MAX_BYTES: Final = 65_536
"""Of the items' JSON, a part of the event that Redis keeps."""
_JSON_BYTES_PER_CHAR: Final = 6  # a control character becomes \u001b
_OTHER_FIELDS_MAX_BYTES: Final = 65_536  # all fields but script and command (labels, gates, names) fit in this


def _now() -> datetime:
    return datetime.now(UTC)


class Metadata(Part, frozen=True):
    """The user of a request, and data by which the caller finds it again."""

    user_id: UserId | None = None
    """The user against whose limit it counts; None: no per-user limit."""
    correlation_id: Word | None = None
    """The caller's own id of the work that this execution belongs to."""
    labels: Labels = Field(default_factory=dict)
    """Up to 32 labels of the caller's own."""
    profile: Word | None = None
    """A profile from the settings for pods (`k8s.profiles`); None: the settings for all pods."""
    traceparent: Traceparent = None
    """The span that the execution is a part of, as W3C Trace Context writes it; what is not valid is left out."""
    tracestate: Tracestate = None
    """What tracing systems add to it; likewise."""
    source: Word | None = None
    """What started it, if that is a trigger: ``TRIGGER``."""
    queue_item_ids: ItemIds | None = None
    """The items of a queue that it works on."""


class ExecutionRequestedEvent(Event, frozen=True):
    """A request to run a script or a command."""

    event_type: Literal["execution_requested"] = "execution_requested"
    execution_id: ExecutionId = Field(default_factory=new_execution_id)
    """The id of the execution, which also keeps it from being accepted twice."""
    script: Script | None = Field(default=None, repr=False)
    """The text of a program; this or `command`."""
    command: Command | None = Field(default=None, repr=False)
    """A program and its arguments; this or `script`."""
    image: Image | None = None
    """The container image; None: the default of the settings."""
    runtime: Runtime | None = None
    """The program that runs the script, like ``python3`` or ``/bin/sh``; None: the backend's default."""
    file_name: FileName | None = None
    """The name under which the script is stored; None: the backend's default."""
    timeout_seconds: int = Field(default=300, ge=1, le=TIMEOUT_MAX_SECONDS)
    """An execution that runs longer ends as TIMEOUT."""
    cpu_request: Quantity | None = None
    """Cores, as a Kubernetes quantity; None: the default of the settings, here and in the next three fields."""
    cpu_limit: Quantity | None = None
    memory_request: Quantity | None = None
    """Bytes, as a Kubernetes quantity."""
    memory_limit: Quantity | None = None
    priority: Priorities = Priority.NORMAL
    """The band; JSON has its name."""
    action: Action = DEFAULT_ACTION
    """The action that the execution counts as, with its limit, pause switch and statistics."""
    gates: Gates = ()
    """Further gates it has to pass, besides those of its action and user."""
    scheduled_at: UtcTime | None = None
    """The time before which it may not start; None, or a past time: it may start at once."""
    metadata: Metadata = Field(default_factory=Metadata)
    items: Annotated[str, Field(max_length=ITEMS_MAX_BYTES)] | None = Field(default=None, repr=False)
    """JSON of the items that it works on; its program finds them in the file that ``BANDMASTER_ITEMS_FILE`` names."""
    requested_at: UtcTime = Field(default_factory=_now)
    """The time by the caller's clock, to inform people; it never decides the order."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.script is None) == (self.command is None):
            given = "neither is given" if self.script is None else "both are given"
            raise InvalidRequest("script, command", given, allowed="exactly one of the two")
        if self.items is not None and len(self.items.encode(errors="replace")) > ITEMS_MAX_BYTES:
            raise InvalidRequest("items", "it is too long", allowed=f"at most {ITEMS_MAX_BYTES:,} bytes")
        _check_limit("cpu", self.cpu_request, self.cpu_limit)
        _check_limit("memory", self.memory_request, self.memory_limit)
        # The exact size costs as much as writing the JSON, so it is computed only if the limit may be exceeded.
        characters = len(self.script) if self.script is not None else sum(len(part) + 1 for part in self.command or ())
        characters += len(self.items or "")
        if characters * _JSON_BYTES_PER_CHAR + _OTHER_FIELDS_MAX_BYTES > EVENT_MAX_BYTES:
            check_size(len(self.__pydantic_serializer__.to_json(self, exclude_none=True)))
        return self


def _check_limit(what: str, request: str | None, limit: str | None) -> None:
    if request is not None and limit is not None and quantity_value(limit) < quantity_value(request):
        raise InvalidRequest(
            f"{what}_limit", f"{limit!r} is less than {what}_request {request!r}", allowed="at least the request"
        )
