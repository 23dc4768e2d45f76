"""The types of the events' fields: what each accepts beyond its Python type, and how it is written as JSON.

All types are strict: a number is not a text, a bool is not a number. Only values without a JSON form of their own are
converted: a priority comes by name, a time as ISO 8601, a tuple as a list. Their JSON schemas tell callers of the API
what can be told in one.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from ..model.errors import InvalidRequest, shown
from ..model.identifiers import (
    ACTION,
    EXECUTION_ID,
    GATE_KEY_MAX_CHARS,
    USER_ID_MAX_CHARS,
    check_action,
    check_execution_id,
    check_gate_key,
    check_user_id,
)
from ..model.priority import Priority
from ..model.quantity import quantity_value
from ..model.trace_context import read_traceparent, read_tracestate

GATES_MAX: Final = 8
LABELS_MAX: Final = 32
DEFAULT_ACTION: Final = "pod"
OUTPUT_TAIL_MAX_CHARS: Final = 65_536
REASON_MAX_CHARS: Final = 1_024
TIMEOUT_MAX_SECONDS: Final = 7 * 86_400

# Times outside this range are mistakes (as seconds taken for milliseconds), and their scores would leave the band (D1).
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(2100, 1, 1, tzinfo=UTC)


def check_text(value: str) -> str:
    """Return the value if every server and file can hold it: without NUL and half surrogate pairs (F27)."""
    if "\0" in value:
        raise InvalidRequest("text", "contains a NUL character", allowed="any text without NUL")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidRequest(
                "text", "contains half of a surrogate pair, which no UTF-8 can hold", allowed="any valid Unicode text"
            ) from None
    return value


def _printable(value: str) -> str:
    if not value.isprintable():
        raise InvalidRequest("text", f"{shown(value)} is not printable", allowed="printable characters")
    return value


def _script(value: str) -> str:
    if not value or value.isspace():
        raise InvalidRequest("script", "is blank", allowed="the text of a program")
    return check_text(value)


def _command(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or not value[0]:
        raise InvalidRequest("command", "names no program", allowed="a list of texts, the first of them the program")
    for argument in value:
        check_text(argument)
    return value


def _gates(value: tuple[str, ...]) -> tuple[str, ...]:
    if len(value) > GATES_MAX:
        raise InvalidRequest("gates", f"{len(value)} gates are too many", allowed=f"at most {GATES_MAX}")
    if len(set(value)) != len(value):
        raise InvalidRequest("gates", "a gate is named twice", allowed="each gate once")
    return value


def _labels(value: dict[str, str]) -> dict[str, str]:
    if len(value) > LABELS_MAX:
        raise InvalidRequest("labels", f"{len(value)} labels are too many", allowed=f"at most {LABELS_MAX}")
    return value


def _quantity(value: str) -> str:
    quantity_value(value)
    return value


def _from_list(value: object) -> object:
    if isinstance(value, list):
        return tuple(cast("list[object]", value))
    if isinstance(value, tuple):
        return cast("tuple[object, ...]", value)
    raise InvalidRequest("list", f"a value of type {type(value).__name__} is not a list", allowed="a list of texts")


def _from_name(value: object) -> object:
    if isinstance(value, Priority | str):
        return Priority.parse(value)
    names = ", ".join(Priority.__members__)
    raise InvalidRequest("priority", f"{shown(value)} is not the name of a priority", allowed=names)


def _from_iso(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise InvalidRequest(
            "time", f"{shown(value)} is not a time", allowed="ISO 8601 with a time zone, like 2030-01-31T12:00:00+01:00"
        ) from None


def _utc(value: datetime) -> datetime:
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidRequest("time", f"{value.isoformat()} has no time zone", allowed="a time with a time zone")
    if not _EARLIEST <= value < _LATEST:
        raise InvalidRequest("time", f"{value.isoformat()} is out of range", allowed="the years 2000 to 2099")
    return value.astimezone(UTC)


def _cleaned(value: object) -> object:
    # A program's output cannot be refused like a request, so characters that cannot be stored are visibly replaced.
    if isinstance(value, str):
        return value.replace("\0", "\N{SYMBOL FOR NULL}").encode(errors="replace").decode()
    return value


def _name_of(priority: Priority) -> str:
    return priority.name


def _version(value: object) -> object:
    # A Literal[1] would also accept True and 1.0.
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidRequest("version", f"{shown(value)} is not a version", allowed="1")
    return value


def described(**schema: Any) -> Any:
    """Tell, in the JSON schema of a type, what its check refuses; the check alone decides."""
    return Field(json_schema_extra=schema)


def as_pattern(spelling: re.Pattern[str]) -> str:
    """Return the pattern of a JSON schema for texts that wholly match an expression."""
    return f"^{spelling.pattern}$"


def _spelled(name: str, pattern: str, allowed: str) -> tuple[AfterValidator, Any]:
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if compiled.fullmatch(value):
            return value
        raise InvalidRequest(name, f"{shown(value)} is not {name}", allowed=allowed)

    return AfterValidator(check), described(pattern=as_pattern(compiled))


Version = Annotated[Literal[1], BeforeValidator(_version)]
ExecutionId = Annotated[str, AfterValidator(check_execution_id), described(pattern=as_pattern(EXECUTION_ID))]
Action = Annotated[str, AfterValidator(check_action), described(pattern=as_pattern(ACTION))]
UserId = Annotated[str, AfterValidator(check_user_id), described(minLength=1, maxLength=USER_ID_MAX_CHARS)]
GateKey = Annotated[str, AfterValidator(check_gate_key), described(minLength=1, maxLength=GATE_KEY_MAX_CHARS)]
Gates = Annotated[
    tuple[GateKey, ...],
    BeforeValidator(_from_list),
    AfterValidator(_gates),
    described(maxItems=GATES_MAX, uniqueItems=True),
]
Script = Annotated[str, AfterValidator(_script), described(minLength=1)]
Command = Annotated[tuple[str, ...], BeforeValidator(_from_list), AfterValidator(_command), described(minItems=1)]
Image = Annotated[
    str, *_spelled("an image", r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}", "a container image, up to 255 characters")
]
Runtime = Annotated[
    str,
    *_spelled("a runtime", r"[A-Za-z0-9_/][A-Za-z0-9._/+-]{0,127}", "a program's name or path, up to 128 characters"),
]
FileName = Annotated[
    str,
    *_spelled(
        "a file name",
        r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}",
        "1 to 128 characters of A-Z a-z 0-9 . _ -, the first of them no . or -",
    ),
]
Quantity = Annotated[str, AfterValidator(_quantity)]
Priorities = Annotated[
    Priority, BeforeValidator(_from_name), PlainSerializer(_name_of, return_type=str, when_used="json")
]
UtcTime = Annotated[datetime, BeforeValidator(_from_iso), AfterValidator(_utc)]
Word = Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_printable)]
ITEM_IDS_MAX: Final = 100
ItemIds = Annotated[
    tuple[
        Annotated[str, _spelled("an item's id", "[A-Za-z0-9-]{1,64}", "1 to 64 characters of A-Z a-z 0-9 -")[0]], ...
    ],
    BeforeValidator(_from_list),
    Field(max_length=ITEM_IDS_MAX),
]
_LABEL: Final = r"[A-Za-z0-9._/-]{1,63}"
Labels = Annotated[
    dict[
        Annotated[str, _spelled("a label's name", _LABEL, "1 to 63 characters of A-Z a-z 0-9 . _ / -")[0]],
        Annotated[str, Field(max_length=256), AfterValidator(_printable)],
    ],
    AfterValidator(_labels),
    described(maxProperties=LABELS_MAX, propertyNames={"pattern": f"^{_LABEL}$"}),
]
# Whoever sends no valid one is not refused: it is left out.
Traceparent = Annotated[str | None, BeforeValidator(read_traceparent)]
Tracestate = Annotated[str | None, BeforeValidator(read_tracestate)]
Reason = Annotated[str, Field(max_length=REASON_MAX_CHARS), AfterValidator(check_text)]
OutputTail = Annotated[str, BeforeValidator(_cleaned), Field(max_length=OUTPUT_TAIL_MAX_CHARS)]
UnixMs = Annotated[int, Field(ge=0)]
Attempt = Annotated[int, Field(ge=1)]
DurationSeconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
