"""What callers send of queues and items: the models of bodies, and the types of their values."""

import re
from typing import Annotated, Any, Final, Literal

from fastapi import Header, Path, Response
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StrictBool

from ...items.bounds import (
    DESCRIPTION_MAX_CHARS,
    LEASE_MAX_SECONDS,
    LEASE_SECONDS,
    MESSAGE_MAX_CHARS,
    MOST_CLAIMED,
    PRIORITY_MAX,
    PROGRESS_MAX_CHARS,
    REFERENCE_MAX_CHARS,
    RETRIES_MAX,
    RETRY_MAX_SECONDS,
    RETRY_SECONDS,
    WAIT_MAX_SECONDS,
)
from ...items.names import QUEUE_NAME
from ...items.notifying.address import URL_MAX_CHARS
from ...items.states import Failure, Status
from ...scheduler.events.fields import described
from ...scheduler.model.errors import InvalidRequest, shown
from ..errors import Refused
from .moments import Moment
from .names import QueueName, RobotId, Text, whole
from .requests import Sent

_QUEUE: Final = re.compile(rf"[0-9]{{1,9}}|{QUEUE_NAME.pattern}")
_ETAG: Final = re.compile(r'"([0-9]{1,18})"')
QUEUE_ID_MAX: Final = 2**31 - 1
_ANY: Final = "*"


def _queue(value: str) -> str:
    if _QUEUE.fullmatch(value):
        return value
    raise InvalidRequest("queue", f"{shown(value)} is no queue's name or id", allowed="a name, or an id")


def queue_named(given: str) -> str | int:
    """Return a queue's id, if that was given, or its name."""
    return int(given) if given.isdecimal() else given


def revision_of(if_match: str | None) -> int | None:
    """Return the revision that a caller saw; None: whatever it is.

    Raises:
        Refused: If it says nothing, or no ETag.
    """
    if if_match is None:
        detail = "say which state is to be changed: the header If-Match with the ETag of GET, or * whatever it is"
        raise Refused(428, "if_match_needed", detail)
    if if_match.strip() == _ANY:
        return None
    matched = _ETAG.fullmatch(if_match.strip())
    if matched is None:
        raise Refused(412, "changed_meanwhile", "If-Match has no ETag of this: read it again")
    return int(matched[1])


def tag(response: Response, revision: int) -> None:
    """Say which state of something is shown, for `revision_of` of a later change."""
    response.headers["ETag"] = f'"{revision}"'


def changed_of(new: Sent, may_be_none: frozenset[str]) -> dict[str, Any]:
    """Return the fields that a change gives; null is no value of the others, which stay.

    Args:
        new: The change.
        may_be_none: The fields of which null is a value.
    """
    given = {name: getattr(new, name) for name in new.model_fields_set}
    return {name: value for name, value in given.items() if value is not None or name in may_be_none}


QueueText = Annotated[str, AfterValidator(_queue), described(pattern=f"^(?:{_QUEUE.pattern})$")]
QueueGiven = Annotated[QueueText, Path(description="A name, or an id.")]
IfMatch = Annotated[str | None, Header(description="The ETag with which it was read, or `*` whatever it is.")]
QueueId = Annotated[int, Field(strict=True, ge=1, le=QUEUE_ID_MAX), BeforeValidator(whole)]
Priority = Annotated[int, Field(strict=True, ge=-PRIORITY_MAX, le=PRIORITY_MAX), BeforeValidator(whole)]
Reference = Annotated[Text, Field(min_length=1, max_length=REFERENCE_MAX_CHARS)]
Description = Annotated[Text, Field(max_length=DESCRIPTION_MAX_CHARS)]
Retries = Annotated[int, Field(strict=True, ge=0, le=RETRIES_MAX), BeforeValidator(whole)]
LeaseSeconds = Annotated[int, Field(strict=True, ge=1, le=LEASE_MAX_SECONDS), BeforeValidator(whole)]
NotifyUrl = Annotated[Text, Field(min_length=1, max_length=URL_MAX_CHARS)]
RetrySeconds = Annotated[int, Field(strict=True, ge=0, le=RETRY_MAX_SECONDS), BeforeValidator(whole)]


class NewQueue(Sent):
    """A queue to be made."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "invoices", "max_retries": 2}]})

    name: QueueName
    description: Description | None = None
    max_retries: Retries = 0
    """How often an item is tried again after a failure of the application."""
    enforce_unique_reference: StrictBool = False
    is_active: StrictBool = True
    payload_schema: Any = None
    """A JSON Schema for payloads, without references to elsewhere; none: any payload."""
    lease_seconds: LeaseSeconds = LEASE_SECONDS
    retry_seconds: RetrySeconds = RETRY_SECONDS
    notify_url: NotifyUrl | None = None
    """Who is told of its items that failed for good or are abandoned: an https or http URL."""


class QueueChange(Sent):
    """What of a queue is to be otherwise; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"is_active": False}]})

    name: QueueName | None = None
    description: Description | None = None
    max_retries: Retries | None = None
    enforce_unique_reference: StrictBool | None = None
    is_active: StrictBool | None = None
    payload_schema: Any = None
    lease_seconds: LeaseSeconds | None = None
    retry_seconds: RetrySeconds | None = None
    notify_url: NotifyUrl | None = None
    """null: nobody is told."""


class OfItem(Sent):
    """What an item has when it is added."""

    reference: Reference | None = None
    """By which people find it again."""
    priority: Priority = 0
    """The larger is handed out first."""
    deadline_at: Moment | None = None
    """Of equal priority, an earlier one is handed out first."""
    postpone_until: Moment | None = None
    """Not before this time."""
    payload: Any = Field(default=None, repr=False)
    """Any JSON value."""


class NewItem(OfItem):
    """An item for a queue, by its id or its name."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"queue_id": 3, "payload": {"invoice": 17}}]})

    queue_id: QueueId | None = None
    queue_name: QueueName | None = None


class NewNamedItem(OfItem):
    """An item for a queue, by its name."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"queue_name": "invoices", "payload": {"invoice": 17}}]})

    queue_name: QueueName


class Wanted(Sent):
    """What a robot wants."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"queue_name": "invoices", "wait_seconds": 20}]})

    queue_name: QueueName | None = None
    queue_id: QueueId | None = None
    robot_id: RobotId | None = None
    """Who takes it; a robot's token says it by itself."""
    count: Annotated[int, Field(strict=True, ge=1, le=MOST_CLAIMED), BeforeValidator(whole)] = 1
    """How many at most."""
    lease_seconds: LeaseSeconds | None = None
    """For how long they are held; none: as the queue says."""
    wait_seconds: Annotated[int, Field(strict=True, ge=0, le=WAIT_MAX_SECONDS), BeforeValidator(whole)] = 0
    """How long to wait for one if there is none."""


class ItemSaid(Sent):
    """What a robot says of an item that it holds."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"status": "DONE", "fence": 1, "result": {"booked": True}}]}
    )

    status: Literal[Status.DONE, Status.FAILED, Status.IN_PROGRESS, Status.NEW, Status.POSTPONED]
    """`IN_PROGRESS` renews the lease, `NEW` gives it back."""
    fence: Annotated[int, Field(strict=True, ge=0, le=2**53), BeforeValidator(whole)] | None = None
    """The number with which it was handed out."""
    robot_id: RobotId | None = None
    """Who says it; a robot's token says it by itself."""
    result: Any = Field(default=None, repr=False)
    """Any JSON value."""
    error_message: Annotated[Text, Field(max_length=MESSAGE_MAX_CHARS)] | None = None
    failure: Failure | None = None
    """With FAILED; none: `business` if the result or the message says so, else `application`."""
    progress: Annotated[Text, Field(max_length=PROGRESS_MAX_CHARS)] | None = None
    """A text for people."""
    lease_seconds: LeaseSeconds | None = None
    postpone_until: Moment | None = None
    """With POSTPONED, and only with it."""


class ItemEdit(Sent):
    """What of an item is to be otherwise; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"priority": 10}]})

    priority: Priority | None = None
    deadline_at: Moment | None = None
    """null: none."""
    reference: Reference | None = None
    payload: Any = Field(default=None, repr=False)
    postpone_until: Moment | None = None
    status: Literal[Status.NEW] | None = None
    """It is tried again, as if it were new; one that is held is taken from its robot."""
