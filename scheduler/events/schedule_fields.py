"""The types of a schedule's fields, and what each refuses by itself. What fields mean together, `schedule.py` says.

In the flow: read wherever a schedule enters, and where a kept one is read back. Nothing is stored here.
"""

import json
import re
from enum import StrEnum
from typing import Annotated, Any, Final, cast

from pydantic import AfterValidator, BeforeValidator, Field

from ..model.cron import check_line
from ..model.errors import InvalidRequest, shown
from ..model.identifiers import check_lane
from ..model.timezones import check_timezone
from .fields import as_pattern, described

SCHEDULE_NAME: Final = re.compile(r"(?!\.+$)[A-Za-z0-9._-]{1,80}")
MISSED_LIMIT_MAX: Final = 100
JITTER_MAX_MS: Final = 86_400_000


class Missed(StrEnum):
    """What becomes of occurrences that were due while nobody could plan or start them."""

    SKIP = "skip"
    """They are left out."""
    ONCE = "once"
    """The last of them runs."""
    ALL = "all"
    """The last `missed_limit` of them run."""


class Overlap(StrEnum):
    """What becomes of an occurrence while an earlier one waits or runs."""

    ALLOW = "allow"
    """It runs, as far as its gates let it."""
    SKIP = "skip"
    """It is left out."""


def check_schedule_name(value: object) -> str:
    """Return the value if it may name a schedule; else raise InvalidRequest."""
    if isinstance(value, str) and SCHEDULE_NAME.fullmatch(value):
        return value
    allowed = "1 to 80 characters of A-Z a-z 0-9 . _ -, not only dots"
    raise InvalidRequest("schedule", f"{shown(value)} is not a schedule's name", allowed=allowed)


def _enum(kind: type[StrEnum]) -> Any:
    def read(value: object) -> object:
        if isinstance(value, str) and value in list(kind):
            return kind(value)
        raise InvalidRequest(kind.__name__.lower(), f"{shown(value)} is not known", allowed=", ".join(kind))

    return BeforeValidator(read)


def _listed(value: object) -> object:
    if isinstance(value, list | tuple):
        return tuple(cast("list[object]", value))
    raise InvalidRequest("args", f"{shown(value)} is no list", allowed='a JSON list, like ["a", 1]')


def _json(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest("args", f"cannot be written as JSON: {type(error).__name__}") from None


def _named(value: object) -> object:
    if isinstance(value, dict) and all(isinstance(name, str) for name in cast("dict[object, object]", value)):
        return cast("dict[str, Any]", value)
    raise InvalidRequest(
        "kwargs", f"{shown(cast('object', value))} is no object", allowed='a JSON object, like {"size": 3}'
    )


def _actor(value: str) -> str:
    if value.isprintable() and value.strip():
        return value
    raise InvalidRequest("actor", f"{shown(value)} is no actor's name", allowed="printable characters")


Name = Annotated[str, AfterValidator(check_schedule_name), described(pattern=as_pattern(SCHEDULE_NAME))]
Line = Annotated[str, BeforeValidator(check_line)]
Zone = Annotated[str, BeforeValidator(check_timezone)]
ActorName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_actor)]
LaneName = Annotated[str, AfterValidator(check_lane)]
Args = Annotated[tuple[Any, ...], BeforeValidator(_listed), AfterValidator(lambda value: tuple(_json(value)))]
Kwargs = Annotated[dict[str, Any], BeforeValidator(_named), AfterValidator(_json)]
MissedRule = Annotated[Missed, _enum(Missed)]
OverlapRule = Annotated[Overlap, _enum(Overlap)]
