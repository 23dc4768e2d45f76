"""``ExecutionRequestedEvent``: the request itself, everything that is needed to run it later.

It is the argument of ``execution_requested.send`` and of ``ExecutionQueueService.enqueue``, and what
``exec_queue:event:{id}`` holds. Only `script` or `command` is needed. What is left out of the pod (image, runtime,
resources) is filled from the settings of the process that creates the pod, so that a caller needs no settings.
"""

from datetime import UTC, datetime
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from ..model.errors import InvalidRequest
from ..model.identifiers import new_execution_id
from ..model.priority import Priority
from ..model.quantity import quantity_value
from .event import EVENT_MAX_BYTES, Event, Part, check_size
from .fields import (
    TIMEOUT_MAX_SECONDS,
    Action,
    Command,
    ExecutionId,
    FileName,
    Gates,
    Image,
    Labels,
    Priorities,
    Quantity,
    Runtime,
    Script,
    UserId,
    UtcTime,
    Word,
)

_JSON_BYTES_PER_CHAR: Final = 6  # a control character becomes \u001b
_OTHER_FIELDS_MAX_BYTES: Final = 65_536  # all but script and command are bounded: labels, gates, names


def _now() -> datetime:
    return datetime.now(UTC)


class Metadata(Part, frozen=True):
    """Who asked, and what the caller wants to find again."""

    user_id: UserId | None = None
    """Whose limit it counts against; None: no per-user limit."""
    correlation_id: Word | None = None
    """The caller's own id of what this belongs to."""
    labels: Labels = Field(default_factory=dict)
    """Up to 32 of the caller's own."""
    profile: Word | None = None
    """One of those that the settings list for pods (`k8s.profiles`); None: what holds for all."""


class ExecutionRequestedEvent(Event, frozen=True):
    """Somebody wants a script or a command to run."""

    event_type: Literal["execution_requested"] = "execution_requested"
    execution_id: ExecutionId = Field(default_factory=new_execution_id)
    """Its name from now on, and the guard against running it twice."""
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
    """Running longer ends it as TIMEOUT."""
    cpu_request: Quantity | None = None
    """Cores, as a Kubernetes quantity; None: the default of the settings. Likewise below."""
    cpu_limit: Quantity | None = None
    memory_request: Quantity | None = None
    """Bytes, as a Kubernetes quantity."""
    memory_limit: Quantity | None = None
    priority: Priorities = Priority.NORMAL
    """By name in JSON."""
    action: Action = "pod"
    """What it counts as: limit, pause switch and statistics are the action's."""
    gates: Gates = ()
    """Further gates it has to pass, besides those of its action and user."""
    scheduled_at: UtcTime | None = None
    """Not before this time; None, or past: at once."""
    metadata: Metadata = Field(default_factory=Metadata)
    requested_at: UtcTime = Field(default_factory=_now)
    """By the caller's clock: for people, never for order."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.script is None) == (self.command is None):
            given = "neither is given" if self.script is None else "both are given"
            raise InvalidRequest("script, command", given, allowed="exactly one of the two")
        _check_limit("cpu", self.cpu_request, self.cpu_limit)
        _check_limit("memory", self.memory_request, self.memory_limit)
        # Counting the bytes for sure costs as much as writing them: done only when it could matter.
        characters = len(self.script) if self.script is not None else sum(len(part) + 1 for part in self.command or ())
        if characters * _JSON_BYTES_PER_CHAR + _OTHER_FIELDS_MAX_BYTES > EVENT_MAX_BYTES:
            check_size(len(self.__pydantic_serializer__.to_json(self, exclude_none=True)))
        return self


def _check_limit(what: str, request: str | None, limit: str | None) -> None:
    if request is not None and limit is not None and quantity_value(limit) < quantity_value(request):
        raise InvalidRequest(
            f"{what}_limit", f"{limit!r} is less than {what}_request {request!r}", allowed="at least the request"
        )
