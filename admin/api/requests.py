"""What callers send: the models of bodies. Unknown fields are refused; the queue checks the values once more."""

from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

from fastapi import UploadFile
from pydantic import BaseModel, ConfigDict, Field

from ...scheduler.events.fields import (
    DEFAULT_ACTION,
    TIMEOUT_MAX_SECONDS,
    Action,
    Command,
    FileName,
    Gates,
    Image,
    Labels,
    Quantity,
    Runtime,
    Script,
    UserId,
    Word,
)
from ...scheduler.events.schedule_fields import JITTER_MAX_MS, MISSED_LIMIT_MAX, Missed, Overlap
from ...scheduler.model.auto import Auto
from ...scheduler.model.limits import LIMIT_MAX
from ...scheduler.model.priority import Priority
from ...scheduler.model.states import State
from ..auth.scopes import Scope
from .moments import DueTime, FutureMoment
from .names import (
    AutoText,
    Band,
    BandName,
    GatePatterns,
    KindName,
    Lane,
    NewExecutionId,
    QueueNames,
    RateText,
    Reason,
    RobotId,
    SettingValue,
    Text,
    Weight,
    Whole,
)


class Sent(BaseModel):
    """A body."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True)


class MetadataSent(Sent):
    """Data by which the caller finds an execution again."""

    correlation_id: Word | None = None
    labels: Labels = {}
    profile: Word | None = None


class Submission(Sent):
    """A script or a command to be run."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"command": ["echo", "hello"], "priority": "HIGH", "timeout_seconds": 60}]}
    )

    script: Script | None = Field(default=None, repr=False)
    """The text of a program; this or `command`."""
    command: Command | None = Field(default=None, repr=False)
    """A program and its arguments; this or `script`."""
    execution_id: NewExecutionId | None = None
    """None: a new one."""
    priority: Band = Field(default=Priority.NORMAL, json_schema_extra={"default": Priority.NORMAL.name})
    """CRITICAL, HIGH, NORMAL, LOW or BACKGROUND; the token says how urgent it may be."""
    action: Action = DEFAULT_ACTION
    """The action that it counts as."""
    gates: Gates = ()
    """Further gates to pass; the token says which may be named."""
    user_id: UserId | None = None
    """As whose it counts; only the scope admin may name another than the token's owner."""
    timeout_seconds: Whole = Field(default=300, ge=1, le=TIMEOUT_MAX_SECONDS)
    scheduled_at: DueTime | None = None
    """Not before this time."""
    image: Image | None = None
    runtime: Runtime | None = None
    file_name: FileName | None = None
    cpu_request: Quantity | None = None
    cpu_limit: Quantity | None = None
    memory_request: Quantity | None = None
    memory_limit: Quantity | None = None
    metadata: MetadataSent = MetadataSent()

    def fields(self, user_id: str) -> dict[str, Any]:
        """Return the fields of the event, for a user."""
        given = self.model_dump(exclude_none=True, exclude={"user_id"})
        return given | {"metadata": given["metadata"] | {"user_id": user_id}}


class Upload(Sent):
    """A script as a file."""

    script: UploadFile = Field(repr=False)
    """The text of a program, in UTF-8."""
    submission: str = "{}"
    """The other fields of a submission, as a JSON object. Without `file_name`, the file's name is it."""


class NewPriority(Sent):
    """Another priority."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"priority": "HIGH"}]})

    priority: Band


class Cancellation(Sent):
    """Why an execution is cancelled."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "no longer needed"}]})

    reason: Reason = "cancelled"


class NewLimit(Sent):
    """How many may hold a gate at once."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"limit": 4}]})

    limit: Whole = Field(ge=0, le=LIMIT_MAX)
    auto: AutoText | None = None
    """`auto(LEAST,MOST)`, the bounds within which it adjusts itself, beginning with this one; a kind has none."""

    @property
    def wanted(self) -> int | Auto:
        """As the queue takes it."""
        return self.limit if self.auto is None else replace(Auto.read(self.auto), start=self.limit)


class NewRate(Sent):
    """How many grants pass a gate in a time."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rate": "100/m burst 5"}]})

    rate: RateText
    """`N/TIME`, like `100/m`, `5/s` or `1/10s`; ` burst N` behind it if so many may come at once."""


class NewShare(Sent):
    """By which gates a lane is fair."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "user"}]})

    kind: KindName


class NewWeight(Sent):
    """How many turns a gate has in fair lanes, for one of another."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"weight": 10}]})

    weight: Weight


class NewSchedule(Sent):
    """What is run again and again, and when."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"cron": "30 6 * * MON-FRI", "tz": "Europe/Berlin", "command": ["echo", "hi"]}]}
    )

    cron: Text = Field(max_length=200)
    """Five fields: minute, hour, day of the month, month, day of the week."""
    tz: Text = Field(default="UTC", max_length=100)
    """A time zone of the IANA's database, like `Europe/Berlin`."""
    actor: Text | None = Field(default=None, min_length=1, max_length=200)
    """The name of the actor that is sent; this or `command`."""
    args: list[Any] | None = Field(default=None, repr=False)
    kwargs: dict[str, Any] | None = Field(default=None, repr=False)
    lane: Lane | None = None
    """The actor's queue; none: `default`."""
    command: Command | None = Field(default=None, repr=False)
    """A program and its arguments; this or `actor`."""
    image: Image | None = None
    cpu_limit: Quantity | None = None
    memory_limit: Quantity | None = None
    timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=TIMEOUT_MAX_SECONDS)] | None = None
    priority: Band = Field(default=Priority.NORMAL, json_schema_extra={"default": Priority.NORMAL.name})
    action: Action | None = None
    gates: Gates = ()
    user_id: UserId | None = None
    missed: Missed = Missed.SKIP
    """Of occurrences that nobody could start in time none runs, the last one, or the last `missed_limit`."""
    missed_limit: Whole = Field(default=10, ge=1, le=MISSED_LIMIT_MAX)
    overlap: Overlap = Overlap.ALLOW
    """Whether an occurrence runs while an earlier one waits or runs, or is left out."""
    jitter_ms: Whole = Field(default=0, ge=0, le=JITTER_MAX_MS)
    """Each occurrence is put off by up to this time, shorter than the interval."""
    start_at: DueTime | None = None
    """None before this time."""
    end_at: DueTime | None = None
    """None after it."""
    paused: bool = False

    def fields(self) -> dict[str, Any]:
        """Return the fields of the schedule."""
        given = self.model_dump(exclude_none=True, exclude={"paused", "start_at", "end_at"})
        return given | {"start": self.start_at, "end": self.end_at}


class NewSetting(Sent):
    """A setting's value."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": 20}]})

    value: SettingValue | None
    """None: the default."""


class TokenSent(Sent):
    """A token to be made."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"owner": "ann", "scopes": ["submit"]}]})

    owner: UserId
    scopes: list[Scope] = Field(min_length=1)
    max_band: BandName = Field(default=Priority.NORMAL, json_schema_extra={"default": Priority.NORMAL.name})
    gates: GatePatterns | None = None
    expires_at: FutureMoment | None = None
    robot_id: RobotId | None = None
    """With the scopes robot and settle, and only with them: as which robot it takes items."""
    queues: QueueNames | None = None
    """Of a robot: the queues that it may add to and take from; none: all."""


class Login(Sent):
    """By what a browser signs in: one of the two."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"token": "bm_3f2a9c0d11e7_…"}]})

    token: str | None = Field(default=None, max_length=200, repr=False)
    """The text of a token."""
    code: str | None = Field(default=None, max_length=100, repr=False)
    """A one-time login code, as `bandmaster up` gives one."""


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
    user: UserId | None = None
    of_action: Action | None = None
    """Only those of this action."""
    of_priority: list[Band] = []
    """Only those of these priorities; none: of any."""
    of_lane: Text | None = Field(default=None, max_length=300)
    """Only those of this lane."""
    of_gate: Text | None = Field(default=None, max_length=300)
    """Only those whose sender named this gate."""
    priority: Band | None = None
    """For `move`."""
    reason: Reason = "cancelled"
    """For `cancel`."""


class Ticket(Sent):
    """What a dry run gave."""

    ticket: str = Field(max_length=100)
