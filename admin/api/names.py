"""Names, texts and numbers as callers give them in paths, queries and bodies: each is checked where it enters.

In the flow: a route names the type of its parameter. A wrong value is refused with 422 under that name before
the route runs, and the OpenAPI document tells what a JSON schema can tell of it.
"""

from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from ...items.names import MADE_ID, QUEUE_NAME, ROBOT_ID, check_queue_name, check_robot_id
from ...scheduler.engine.controls import SETTING_MAX, check_pausable
from ...scheduler.engine.shares import MOST_WEIGHT, check_kind
from ...scheduler.events.fields import ExecutionId, as_pattern, check_text, described
from ...scheduler.events.schedule_fields import SCHEDULE_NAME, check_schedule_name
from ...scheduler.model.auto import AUTO, Auto
from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.identifiers import (
    GATE_KEY_MAX_CHARS,
    LANE,
    REASON_MAX_CHARS,
    RESERVED_LANES,
    check_lane,
    check_reason,
)
from ...scheduler.model.limits import check_gate, check_limited
from ...scheduler.model.priority import Priority
from ...scheduler.model.rates import RATE, Rate
from ..auth.making import GATE_MAX_CHARS, MOST_GATES, MOST_QUEUES, check_gate_pattern
from ..auth.secrets import TOKEN_ID, check_token_id

_NAMES: Final = list(Priority.__members__)
_NUMBERS: Final = {str(int(band)): band for band in Priority}


def _priority(given: object) -> Priority:
    return Priority.parse(whole(given))


def _priority_in_query(given: str) -> Priority:
    return _NUMBERS[given] if given in _NUMBERS else Priority.parse(given)


def _named(given: object) -> Priority:
    # Where a number was never taken.
    return Priority.parse(given if isinstance(given, str) else shown(given))


def _name_of(band: Priority) -> str:
    return band.name


def whole(given: object) -> object:
    """JSON has one kind of numbers: 4.0 is 4."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


def _auto(value: str) -> str:
    return str(Auto.read(value))


def _rate(given: str) -> str:
    Rate.read(given)
    return given


def _made_id(value: str) -> str:
    if MADE_ID.fullmatch(value):
        return value
    raise InvalidRequest("id", f"{shown(value)} is no id", allowed="1 to 64 characters of A-Z a-z 0-9 -")


WORDS: Final = frozenset({"bulk", "dead", "living", "queue", "upload"})
"""What stands in paths where an execution's id does: what had such an id could not be asked for."""


def _no_word(execution_id: str) -> str:
    if execution_id in WORDS:
        raise InvalidRequest(
            "execution_id", f"{shown(execution_id)} is a word of the API's own paths", allowed="any other id"
        )
    return execution_id


NewExecutionId = Annotated[ExecutionId, AfterValidator(_no_word), described(**{"not": {"enum": sorted(WORDS)}})]
"""The id that a caller chooses."""
MadeId = Annotated[str, AfterValidator(_made_id), described(pattern=as_pattern(MADE_ID))]
"""Of an item or a notification, as an answer has it."""
Text = Annotated[str, AfterValidator(check_text), described(pattern=r"^[^\x00]*$")]
"""Any text that every database can hold."""
Lane = Annotated[
    str, AfterValidator(check_lane), described(**{"pattern": as_pattern(LANE), "not": {"enum": sorted(RESERVED_LANES)}})
]
Limited = Annotated[str, AfterValidator(check_limited), described(minLength=1, maxLength=GATE_KEY_MAX_CHARS)]
"""A gate, or a kind of gates."""
OneGate = Annotated[str, AfterValidator(check_gate), described(minLength=1, maxLength=GATE_KEY_MAX_CHARS)]
KindName = Annotated[str, AfterValidator(check_kind), described(minLength=1, maxLength=GATE_KEY_MAX_CHARS)]
"""What precedes the first colon of gates, such as `user`."""
AutoText = Annotated[str, AfterValidator(_auto), described(pattern=as_pattern(AUTO))]
RateText = Annotated[str, AfterValidator(_rate), described(pattern=as_pattern(RATE))]
"""A rate as a user writes it, like `100/m burst 5`."""
Pausable = Annotated[str, AfterValidator(check_pausable), described(minLength=1, maxLength=GATE_KEY_MAX_CHARS)]
ScheduleName = Annotated[str, AfterValidator(check_schedule_name), described(pattern=as_pattern(SCHEDULE_NAME))]
TokenId = Annotated[str, AfterValidator(check_token_id), described(pattern=as_pattern(TOKEN_ID))]
GatePatterns = Annotated[
    list[Annotated[str, AfterValidator(check_gate_pattern), described(minLength=1, maxLength=GATE_MAX_CHARS)]],
    Field(max_length=MOST_GATES),
]
"""Of the gates that a token may name."""
QueueName = Annotated[str, AfterValidator(check_queue_name), described(pattern=as_pattern(QUEUE_NAME))]
RobotId = Annotated[str, AfterValidator(check_robot_id), described(pattern=as_pattern(ROBOT_ID))]
QueueNames = Annotated[list[QueueName], Field(min_length=1, max_length=MOST_QUEUES)]
"""Of the queues that a robot's token is for."""
Reason = Annotated[str, AfterValidator(check_reason), described(maxLength=REASON_MAX_CHARS)]
Band = Annotated[
    Priority,
    BeforeValidator(_priority),
    PlainSerializer(_name_of, return_type=str, when_used="json"),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": _NAMES},
                {"type": "integer", "minimum": int(min(Priority)), "maximum": int(max(Priority))},
            ]
        }
    ),
]
"""A priority: its name, or its band."""
BandName = Annotated[Priority, BeforeValidator(_named), WithJsonSchema({"type": "string", "enum": _NAMES})]
BandInQuery = Annotated[
    Priority, BeforeValidator(_priority_in_query), WithJsonSchema({"type": "string", "enum": [*_NAMES, *_NUMBERS]})
]
"""The same as a text: all that a query has."""
Whole = Annotated[int, BeforeValidator(whole), Field(strict=True)]
SettingValue = Annotated[int, Field(strict=True, ge=0, le=SETTING_MAX), BeforeValidator(whole)]
Weight = Annotated[int, Field(strict=True, ge=1, le=MOST_WEIGHT), BeforeValidator(whole)]
