"""The base of all events: a version, strict checks, one JSON form, and one kind of error for wrong values.

An event is made where a request enters (``send``, service, command line) or where a transition is reported, and is read
back from Redis. Every instance is valid. Nothing is stored here.
"""

from typing import Any, ClassVar, Final, NoReturn, Self, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from ..model.errors import InvalidRequest, shown
from .fields import ExecutionId, Version

EVENT_MAX_BYTES: Final = 1_048_576
"""The longest JSON of an event: 1 MiB."""

PAYLOAD_FIELDS: Final = frozenset({"script", "command", "output_tail", "args", "kwargs", "items"})
"""The fields that error messages and logs never show."""

_PATH_PART_CHARS: Final = 64


class Part(BaseModel, frozen=True):
    """The base of events and of the models that they contain."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        strict=True, frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=False
    )


class Event(Part, frozen=True):
    """One fact about one execution, as JSON in Redis and in messages."""

    version: Version = 1
    """The version of the JSON form; a reader refuses any other."""
    execution_id: ExecutionId

    def to_json(self) -> bytes:
        """Return the event as UTF-8 JSON, at most 1 MiB.

        Raises:
            InvalidRequest: If the JSON is longer.
        """
        data = self.__pydantic_serializer__.to_json(self, exclude_none=True)
        check_size(len(data), self.execution_id)
        return data

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read an event from JSON, as `to_json` writes it or with the same content in another form.

        Raises:
            InvalidRequest: If a field is wrong; the error names the first such field.
        """
        # A text may have more bytes than characters; they are counted only if it could exceed the limit.
        length = len(data)
        if isinstance(data, str) and EVENT_MAX_BYTES // 4 < length <= EVENT_MAX_BYTES:
            length = len(data.encode(errors="replace"))
        check_size(length)
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            refuse(cls, error, None)

    @classmethod
    def from_any(cls, value: object) -> Self:
        """Make an event from a model, a dict or JSON.

        Args:
            value: A model is returned as it is; a dict is checked strictly (``"300"`` is no number); bytes and str
                are JSON.

        Raises:
            InvalidRequest: If a field is wrong; the error names the first such field.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, bytes | str):
            return cls.from_json(value)
        if not isinstance(value, dict):
            raise InvalidRequest("event", f"{shown(value)} is not an event", allowed=f"a dict, JSON, or {cls.__name__}")
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            given = cast("dict[object, object]", value).get("execution_id")
            refuse(cls, error, given if isinstance(given, str) else None)


def check_size(length_bytes: int, execution_id: str | None = None) -> None:
    """Refuse an event whose JSON is longer than 1 MiB."""
    if length_bytes > EVENT_MAX_BYTES:
        raise InvalidRequest(
            "event",
            f"its JSON is {length_bytes} bytes long",
            allowed=f"at most {EVENT_MAX_BYTES} bytes; put large data where the execution can fetch it",
            execution_id=execution_id,
        )


def refuse(model: type[BaseModel], error: ValidationError, execution_id: str | None) -> NoReturn:
    """Raise the first error as an InvalidRequest, without its cause, whose traceback could show a payload."""
    field, problem, allowed = _explained(model, error.errors(include_url=False)[0])
    raise InvalidRequest(field, problem, allowed=allowed, execution_id=execution_id) from None


def _explained(model: type[BaseModel], detail: ErrorDetails) -> tuple[str, str, str]:
    path = detail["loc"]
    field = ".".join(_path_part(part) for part in path) or "event"
    cause = detail.get("ctx", {}).get("error")
    match detail["type"]:
        case "extra_forbidden":
            return field, "is not a field", ", ".join(_owner(model, path).model_fields)
        case "missing":
            return field, "is missing", ""
        case "json_invalid":
            return field, f"is not JSON: {cause}", ""
        case _ if isinstance(cause, InvalidRequest):
            return (field if path else cause.field), cause.problem, cause.allowed
        case _ if path and path[0] in PAYLOAD_FIELDS:
            return field, f"{_lowered(detail['msg'])} (its content is not shown)", ""
        case _:
            return field, f"{shown(detail['input'])} is refused: {_lowered(detail['msg'])}", ""


def _owner(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel]:
    """Return the model in which the last part of the path was looked up."""
    for part in path[:-1]:
        annotation: Any = model.model_fields[str(part)].annotation
        model = cast("type[BaseModel]", annotation)
    return model


def _path_part(part: int | str) -> str:
    text = str(part)
    return text if text.isprintable() and len(text) <= _PATH_PART_CHARS else shown(text)


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
