"""``Schedule``: what is to be run again and again, and when. Its occurrences are executions.

In the flow: made where a schedule enters (command line, API, an actor's declaration), kept as JSON in Redis, and read
by whoever plans the next occurrences. What enters is proven as a whole, what is kept was. Nothing is stored here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, ClassVar, Final, Self

from pydantic import Field, ValidationError, ValidationInfo, model_validator

from ..keys import DEFAULT_LANE
from ..model.cron import Cron
from ..model.errors import InvalidRequest, shown
from ..model.identifiers import action_of
from ..model.priority import Priority
from .event import Part, refuse
from .fields import (
    DEFAULT_ACTION,
    TIMEOUT_MAX_SECONDS,
    Action,
    Command,
    Gates,
    Image,
    Priorities,
    Quantity,
    UserId,
    UtcTime,
    check_text,
)
from .requested import ExecutionRequestedEvent, Metadata
from .schedule_fields import (
    JITTER_MAX_MS,
    MISSED_LIMIT_MAX,
    ActorName,
    Args,
    Kwargs,
    LaneName,
    Line,
    Missed,
    MissedRule,
    Name,
    Overlap,
    OverlapRule,
    Zone,
)

MISSED_AFTER_MS: Final = 60_000
"""An occurrence that could not be started for so long is missed. `lua/include/occurrences.lua` has the same number."""
MOST_BYTES: Final = 8_192
"""Of a schedule's JSON: the latest changes of schedules are kept with the others."""
DEFAULT_QUEUE: Final = "default"
OF_SCHEDULES: Final = "schedule:"
_OCCURRENCE: Final = re.compile(rf"{OF_SCHEDULES}[^:]+:[0-9]{{8}}T[0-9]{{6}}Z")
KEPT: Final = "kept"
"""The context of what is read back: proving it again would compute its times, by the rules of a later release."""


def instant_of(unix_ms: int) -> str:
    """Return a time of an occurrence as its id has it, as ``20300131T060000Z``."""
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


def occurrence_id(name: str, unix_ms: int) -> str:
    """Return the id of the execution that is a schedule's occurrence: the same, whoever plans it."""
    return f"{OF_SCHEDULES}{name}:{instant_of(unix_ms)}"


def is_occurrence(execution_id: str) -> bool:
    """Whether an id is that of an occurrence of a schedule, which whoever plans it gives again."""
    return _OCCURRENCE.fullmatch(execution_id) is not None


class Schedule(Part, frozen=True):
    """What is run, and when."""

    name: Name
    cron: Line
    """Five fields: minute, hour, day of the month, month, day of the week."""
    tz: Zone = "UTC"
    """The time zone of the line, as the IANA names it."""
    actor: ActorName | None = None
    """The name of the actor that is sent; this or `command`."""
    args: Args = Field(default=(), repr=False)
    """Its arguments, as JSON."""
    kwargs: Kwargs = Field(default_factory=dict[str, Any], repr=False)
    command: Command | None = Field(default=None, repr=False)
    """A program and its arguments, as `bandmaster submit` takes them; this or `actor`."""
    image: Image | None = None
    """The container image of the command; None: the default of the settings."""
    cpu_limit: Quantity | None = None
    memory_limit: Quantity | None = None
    timeout_seconds: int | None = Field(default=None, ge=1, le=TIMEOUT_MAX_SECONDS)
    """A command that runs longer ends as TIMEOUT; None: 300. An actor has its own time limit."""
    lane: LaneName | None = None
    """The actor's queue; None: `default`. Commands run in `executions`."""
    priority: Priorities = Priority.NORMAL
    action: Action | None = None
    """The action that it counts as; None: the actor's name, or `pod`."""
    user_id: UserId | None = None
    gates: Gates = ()
    """Gates to pass, besides those of its action and user."""
    missed: MissedRule = Missed.SKIP
    missed_limit: int = Field(default=10, ge=1, le=MISSED_LIMIT_MAX)
    """With `all`: so many of them at most."""
    overlap: OverlapRule = Overlap.ALLOW
    jitter_ms: int = Field(default=0, ge=0, le=JITTER_MAX_MS)
    """Each occurrence is put off by up to this time, the same for the same occurrence; shorter than the interval."""
    start: UtcTime | None = None
    """No occurrence before this time."""
    end: UtcTime | None = None
    """None after it."""

    of_commands: ClassVar = ("image", "cpu_limit", "memory_limit", "timeout_seconds")
    of_actors: ClassVar = ("args", "kwargs", "lane")

    @model_validator(mode="after")
    def _whole(self, info: ValidationInfo) -> Self:
        if info.context is KEPT:
            return self
        if (self.actor is None) == (self.command is None):
            given = "neither is given" if self.actor is None else "both are given"
            raise InvalidRequest("actor, command", given, allowed="exactly one of the two")
        others, theirs = (self.of_actors, "actor") if self.actor is None else (self.of_commands, "command")
        for field in others:
            if getattr(self, field) not in (None, (), {}):
                raise InvalidRequest(field, f"is given without {theirs}", allowed=f"with {theirs}")
        self._check_times()
        if self.command is not None:
            self.event(occurrence_id(self.name, 0), None)
        if (length := len(self.to_json().encode())) > MOST_BYTES:
            allowed = f"at most {MOST_BYTES}; put large data where the work can fetch it"
            raise InvalidRequest("schedule", f"its JSON has {length} bytes", allowed=allowed)
        return self

    def _check_times(self) -> None:
        Cron.read(self.cron, self.tz)
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise InvalidRequest("end", f"{self.end.isoformat()} is not after the start", allowed="a later time")
        if next(self.times(0), None) is None:
            raise InvalidRequest("cron", f"{shown(self.cron)} never fires from start to end", allowed="a later end")
        gap_ms = self.line.shortest_gap_ms(self.start_ms or 0)
        if gap_ms is not None and self.jitter_ms >= gap_ms:
            raise InvalidRequest(
                "jitter_ms", f"{self.jitter_ms} is as long as the interval", allowed=f"less than {gap_ms}"
            )

    @classmethod
    def of(cls, value: Mapping[str, object]) -> Self:
        """Make a schedule from fields, checked strictly.

        Raises:
            InvalidRequest: If a field is wrong; the error names the first such field.
        """
        try:
            return cls.model_validate(dict(value))
        except ValidationError as error:
            refuse(cls, error, None)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote. What it means as a whole was proven when it was accepted, and is not again.

        Raises:
            InvalidRequest: If a field is wrong, or of another release.
        """
        try:
            return cls.model_validate_json(text, context=KEPT)
        except ValidationError as error:
            refuse(cls, error, None)

    def to_json(self) -> str:
        """Return it as JSON, without what is the default; the same schedule gives the same text."""
        document = self.model_dump(mode="json", exclude_defaults=True)
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    @property
    def line(self) -> Cron:
        """When it is due, apart from start and end."""
        return Cron(self.cron, self.tz)

    @property
    def start_ms(self) -> int | None:
        """The start in unix milliseconds."""
        return None if self.start is None else int(self.start.timestamp() * 1000)

    @property
    def end_ms(self) -> int | None:
        """The end in unix milliseconds."""
        return None if self.end is None else int(self.end.timestamp() * 1000)

    def times(self, after_ms: int) -> Iterator[int]:
        """The times of its occurrences later than this one, in unix milliseconds, without jitter."""
        begin_ms = after_ms if self.start_ms is None else max(after_ms, self.start_ms - 1)
        end_ms = self.end_ms
        return self.line.after(begin_ms) if end_ms is None else self.line.between(begin_ms, end_ms)

    def due_ms(self, at_ms: int) -> int:
        """When the occurrence of a time is due: with its jitter, which is the same whoever computes it."""
        if not self.jitter_ms:
            return at_ms
        digest = blake2b(occurrence_id(self.name, at_ms).encode(), digest_size=8).digest()
        return at_ms + int.from_bytes(digest, "big") % (self.jitter_ms + 1)

    @property
    def lane_used(self) -> str:
        """The lane of its occurrences."""
        return DEFAULT_LANE if self.actor is None else self.lane or DEFAULT_QUEUE

    @property
    def action_used(self) -> str:
        """The action of its occurrences."""
        return self.action or (DEFAULT_ACTION if self.actor is None else action_of(self.actor))

    @property
    def target(self) -> str:
        """What is run, in a word, without arguments."""
        return f"actor {self.actor}" if self.command is None else check_text(self.command[0])

    def event(self, execution_id: str, at_ms: int | None) -> ExecutionRequestedEvent:
        """The request of a command's occurrence.

        Args:
            execution_id: Its id.
            at_ms: Its time; None: now.

        Raises:
            InvalidRequest: If a field cannot be one of a request.
        """
        return ExecutionRequestedEvent(
            execution_id=execution_id,
            command=self.command,
            image=self.image,
            cpu_limit=self.cpu_limit,
            memory_limit=self.memory_limit,
            timeout_seconds=self.timeout_seconds or 300,
            priority=self.priority,
            action=self.action_used,
            gates=self.gates,
            metadata=Metadata(user_id=self.user_id),
            requested_at=datetime.now(UTC) if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC),
        )
