"""What callers send: the models of bodies. Unknown fields are refused; the queue checks the values once more."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ...scheduler.model.identifiers import REASON_MAX_CHARS
from ...scheduler.model.states import State
from .moments import Moment


class Sent(BaseModel):
    """A body."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)


class MetadataSent(Sent):
    """Data by which the caller finds an execution again."""

    correlation_id: str | None = None
    labels: dict[str, str] = {}
    profile: str | None = None


class Submission(Sent):
    """A script or a command to be run."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"command": ["echo", "hello"], "priority": "HIGH", "timeout_seconds": 60}]}
    )

    script: str | None = Field(default=None, repr=False)
    """The text of a program; this or `command`."""
    command: list[str] | None = Field(default=None, repr=False)
    """A program and its arguments; this or `script`."""
    execution_id: str | None = None
    """None: a new one."""
    priority: str | int = "NORMAL"
    """CRITICAL, HIGH, NORMAL, LOW or BACKGROUND; the token says how urgent it may be."""
    action: str = "pod"
    """The action that it counts as."""
    gates: list[str] = []
    """Further gates to pass; the token says which may be named."""
    user_id: str | None = None
    """As whose it counts; only the scope admin may name another than the token's owner."""
    timeout_seconds: int = Field(default=300, strict=True)
    scheduled_at: datetime | None = None
    """Not before this time."""
    image: str | None = None
    runtime: str | None = None
    file_name: str | None = None
    cpu_request: str | None = None
    cpu_limit: str | None = None
    memory_request: str | None = None
    memory_limit: str | None = None
    metadata: MetadataSent = MetadataSent()

    def fields(self, user_id: str) -> dict[str, Any]:
        """Return the fields of the event, for a user."""
        given = self.model_dump(exclude_none=True, exclude={"user_id"})
        return given | {"metadata": given["metadata"] | {"user_id": user_id}}


class NewPriority(Sent):
    """Another priority."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"priority": "HIGH"}]})

    priority: str | int


class Cancellation(Sent):
    """Why an execution is cancelled."""

    reason: str = Field(default="cancelled", max_length=REASON_MAX_CHARS)


class NewLimit(Sent):
    """How many may hold a gate at once."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"limit": 4}]})

    limit: int = Field(ge=0, strict=True)


class NewSetting(Sent):
    """A setting's value."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": 20}]})

    value: Annotated[int, Field(strict=True)] | None
    """None: the default."""


class TokenSent(Sent):
    """A token to be made."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"owner": "ann", "scopes": ["submit"]}]})

    owner: str
    scopes: list[str] = Field(min_length=1)
    max_band: str = "NORMAL"
    gates: list[str] | None = None
    expires_at: Moment | None = None


class BulkAction(StrEnum):
    """What is done to many executions."""

    CANCEL = "cancel"
    """Those that wait, are scheduled or run."""
    MOVE = "move"
    """Those that wait or are scheduled, to another priority."""
    RETRY = "retry"
    """Dead letters: each runs again, under a new id."""
    DROP = "drop"
    """Dead letters: what they would run is forgotten."""


class BulkSent(Sent):
    """Which executions are to be changed, and how."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"action": "cancel", "user": "ann"}]})

    action: BulkAction
    status: list[State] = []
    """Only those in these states; none: in any."""
    user: str | None = None
    of_action: str | None = None
    """Only those of this action."""
    priority: str | int | None = None
    """For `move`."""
    reason: str = Field(default="cancelled", max_length=REASON_MAX_CHARS)
    """For `cancel`."""


class Ticket(Sent):
    """What a dry run gave."""

    ticket: str = Field(max_length=100)
