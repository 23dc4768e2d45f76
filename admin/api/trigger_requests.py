"""What callers send of triggers: the models of bodies, and what makes their answers."""

import re
from typing import Annotated, Any, Final

from fastapi import Path
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StrictBool

from ...items.bounds import (
    BATCH_MAX,
    BATCH_SIZE,
    JOBS,
    MOST_JOBS,
    POLLING_MAX_SECONDS,
    POLLING_SECONDS,
    TIMEOUT_SECONDS,
    ZONE_MAX_CHARS,
)
from ...items.names import QUEUE_NAME, check_trigger_name
from ...items.notifying.address import shown_address
from ...items.started import Started
from ...items.trigger import Trigger, TriggerType
from ...scheduler.events.fields import (
    DEFAULT_ACTION,
    TIMEOUT_MAX_SECONDS,
    Action,
    Command,
    Image,
    UserId,
    as_pattern,
    described,
)
from ...scheduler.model.cron import LINE_MAX_CHARS
from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.priority import Priority
from ...scheduler.model.times import iso_of
from ..answers.triggers import TriggerAnswer, TriggerExecution
from .item_requests import NotifyUrl, QueueId
from .moments import shown_at
from .names import Band, Text, whole
from .requests import Sent

_TRIGGER: Final = re.compile(rf"[0-9]{{1,9}}|{QUEUE_NAME.pattern}")


def _trigger(value: str) -> str:
    if _TRIGGER.fullmatch(value):
        return value
    raise InvalidRequest("trigger", f"{shown(value)} is no trigger's name or id", allowed="a name, or an id")


TriggerName = Annotated[str, AfterValidator(check_trigger_name), described(pattern=as_pattern(QUEUE_NAME))]
TriggerGiven = Annotated[
    str,
    AfterValidator(_trigger),
    described(pattern=f"^(?:{_TRIGGER.pattern})$"),
    Path(description="A name, or an id."),
]
BatchSize = Annotated[int, Field(strict=True, ge=1, le=BATCH_MAX), BeforeValidator(whole)]
Interval = Annotated[int, Field(strict=True, ge=1, le=POLLING_MAX_SECONDS), BeforeValidator(whole)]
Jobs = Annotated[int, Field(strict=True, ge=1, le=MOST_JOBS), BeforeValidator(whole)]
Timeout = Annotated[int, Field(strict=True, ge=1, le=TIMEOUT_MAX_SECONDS), BeforeValidator(whole)]
Line = Annotated[Text, Field(max_length=LINE_MAX_CHARS)]
Zone = Annotated[Text, Field(max_length=ZONE_MAX_CHARS)]


class NewTrigger(Sent):
    """A trigger to be made."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "book", "type": "QUEUE", "queue_id": 3, "command": ["python3", "-m", "book"]}]
        }
    )

    name: TriggerName
    type: TriggerType
    queue_id: QueueId | None = None
    """With QUEUE."""
    batch_size: BatchSize = BATCH_SIZE
    """How many items an execution works on at most."""
    polling_interval: Interval = POLLING_SECONDS
    """After so many seconds it looks again, if no item's arrival is told."""
    enabled: StrictBool = True
    max_jobs: Jobs = JOBS
    """How many of its executions may live at once."""
    cron: Line | None = None
    """With TIME. Five fields: minute, hour, day of the month, month, day of the week."""
    tz: Zone = "UTC"
    """A time zone of the IANA's database, like `Europe/Berlin`."""
    command: Command = Field(repr=False)
    """A program and its arguments."""
    image: Image | None = None
    action: Action = DEFAULT_ACTION
    user_id: UserId | None = None
    """Against whose limit its executions count."""
    priority: Band = Field(default=Priority.NORMAL, json_schema_extra={"default": Priority.NORMAL.name})
    timeout_seconds: Timeout = TIMEOUT_SECONDS
    notify_url: NotifyUrl | None = None
    """Who is told when it begins to fail: an https or http URL."""


class TriggerChange(Sent):
    """What of a trigger is to be otherwise; what is left out stays, and so does its type."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"enabled": False}]})

    name: TriggerName | None = None
    queue_id: QueueId | None = None
    batch_size: BatchSize | None = None
    polling_interval: Interval | None = None
    enabled: StrictBool | None = None
    max_jobs: Jobs | None = None
    cron: Line | None = None
    tz: Zone | None = None
    command: Command | None = Field(default=None, repr=False)
    image: Image | None = None
    action: Action | None = None
    user_id: UserId | None = None
    priority: Band | None = None
    timeout_seconds: Timeout | None = None
    notify_url: NotifyUrl | None = None
    """null: nobody is told."""


def trigger_answer(trigger: Trigger, *, tells_all: bool) -> TriggerAnswer:
    """Return a trigger's answer; without `tells_all`, not what it runs, and of the address not its path."""
    shown: dict[str, Any] = {"command": list(trigger.command)} if tells_all else {}
    return TriggerAnswer(
        id=trigger.trigger_id,
        name=trigger.name,
        type=trigger.type,
        queue_id=trigger.queue_id,
        batch_size=trigger.batch_size,
        polling_interval=trigger.polling_interval,
        enabled=trigger.enabled,
        state=trigger.state,
        max_jobs=trigger.max_jobs,
        live_jobs=trigger.live_jobs,
        cron=trigger.cron,
        tz=trigger.tz,
        image=trigger.image,
        action=trigger.action,
        user_id=trigger.user_id,
        priority=trigger.priority.name,
        timeout_seconds=trigger.timeout_seconds,
        fired=trigger.sequence,
        last_fired_at=iso_of(trigger.last_fired_ms),
        next_fire_at=iso_of(trigger.fires_next_ms),
        last_processed_item_id=trigger.last_processed_item_id,
        failures=trigger.failures,
        backoff_until=iso_of(trigger.backoff_ms),
        last_error=trigger.last_error,
        notify_url=trigger.notify_url if tells_all else shown_address(trigger.notify_url),
        executions=[_execution(each) for each in trigger.latest],
        revision=trigger.revision,
        created_at=shown_at(trigger.created_ms),
        updated_at=shown_at(trigger.updated_ms),
        **shown,
    )


def _execution(started: Started) -> TriggerExecution:
    return TriggerExecution(
        execution_id=started.execution_id,
        fired_at=shown_at(started.fired_ms),
        sent_at=iso_of(started.sent_ms),
        ended_at=iso_of(started.ended_ms),
        state=started.state,
    )
