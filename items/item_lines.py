"""Reads items from files, line by line: JSON Lines (an object a line) and CSV (a line of names, then a line an item).

In the flow: uploading asks for the lines of a file, twice if it has to. A line is bounded in bytes, so that a file of
one endless line takes no memory; what is wrong with a line is told with its number, and the others are read. No value
is in any problem. Nothing is written here.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, BinaryIO, Final, TypeVar, cast

from ..scheduler.model.errors import InvalidRequest, shown

LINE_MAX_BYTES: Final = 524_288
"""Of a line of either kind: twice as much as a payload may have."""
RECORD_MAX_CHARS: Final = 2 * LINE_MAX_BYTES
"""Of all cells of an item of CSV, whose quotes are doubled; an export has the result beside the payload."""
FIELDS: Final = ("reference", "priority", "deadline_at", "postpone_until", "payload")
TOLD: Final = (
    *("id", "status", "result", "failure", "error_message", "progress", "retries", "abandoned", "robot_id", "job_id"),
    *("created_at", "ended_at"),
)
"""What an export has besides; of a file that is uploaded it is left out, since the items are new."""
_OF_PAYLOAD: Final = "payload."
_LINE: Final = "line"
_FIRST_LINE: Final = "the first line"
_NOT_UTF8: Final = "it is not UTF-8"
T = TypeVar("T")
_MOMENTS: Final = {"deadline_at": "deadline_ms", "postpone_until": "available_ms"}


class FileFormat(StrEnum):
    """The kinds of files."""

    @property
    def media_type(self) -> str:
        """By which HTTP knows it."""
        return "application/x-ndjson" if self is FileFormat.JSONL else "text/csv"

    JSONL = "jsonl"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Line:
    """A line with an item, or with what is wrong with it."""

    number: int
    """From 1; of an item of CSV that has several lines, the last."""
    fields: Mapping[str, Any] | None = None
    """Arguments of `Adding.add`."""
    problem: InvalidRequest | None = None


def lines_of(file: BinaryIO, kind: FileFormat) -> Iterator[Line]:
    """Read a file from its beginning.

    Args:
        file: Binary; of JSON Lines and CSV in UTF-8, with or without a byte order mark.
        kind: What it is.

    Raises:
        InvalidRequest: If the first line of a CSV names no fields, or others than there are.
    """
    file.seek(0)
    return _json_lines(file) if kind is FileFormat.JSONL else _csv_lines(file)


def _json_lines(file: BinaryIO) -> Iterator[Line]:
    for number, raw in enumerate(iter(lambda: file.readline(LINE_MAX_BYTES), b""), 1):
        if len(raw) == LINE_MAX_BYTES and not raw.endswith(b"\n"):
            while (rest := file.readline(LINE_MAX_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield Line(number, problem=InvalidRequest(_LINE, "it is too long", allowed=f"{LINE_MAX_BYTES:,} bytes"))
        elif raw.strip():
            yield _read(number, _object, raw)


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_each_once)
    except UnicodeDecodeError:
        raise InvalidRequest(_LINE, _NOT_UTF8) from None
    except (ValueError, RecursionError):
        raise InvalidRequest(_LINE, "it is no JSON, or names a field twice") from None
    if not isinstance(value, dict):
        raise InvalidRequest(_LINE, "it is no JSON object", allowed=f"an object with {', '.join(FIELDS)}")
    return cast("dict[str, Any]", value)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("a name twice")
    return found


def _csv_lines(file: BinaryIO) -> Iterator[Line]:
    csv.field_size_limit(LINE_MAX_BYTES)
    # What is not UTF-8 becomes half of a surrogate pair, by which `_check_utf8` knows it in its line.
    text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
    size = 0

    def bounded() -> Iterator[str]:
        nonlocal size
        for piece in iter(lambda: text.readline(RECORD_MAX_CHARS + 1), ""):
            size += len(piece)
            if size > RECORD_MAX_CHARS:
                raise csv.Error("it is too long")
            yield piece

    reader = csv.reader(bounded(), strict=True)
    try:
        names = _names(_first_of(reader))
        while True:
            size = 0
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                problem = InvalidRequest(_LINE, f"it is no CSV ({error}); what follows was not read")
                yield Line(reader.line_num, problem=problem)
                return
            if row:
                yield _read(reader.line_num, partial(_by_name, names), row)
    finally:
        text.detach()


def _first_of(rows: Iterator[list[str]]) -> list[str]:
    try:
        return next(rows, list[str]())
    except csv.Error as error:
        raise InvalidRequest(_FIRST_LINE, f"it is no CSV ({error})") from None


def _check_utf8(where: str, cells: list[str]) -> None:
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        raise InvalidRequest(where, _NOT_UTF8) from None


def _names(row: list[str]) -> list[str]:
    _check_utf8(_FIRST_LINE, row)
    names = [name.strip() for name in row]
    for name, times in Counter(names).items():
        if name not in FIELDS and name not in TOLD and not (name.startswith(_OF_PAYLOAD) and name != _OF_PAYLOAD):
            allowed = f"{', '.join(FIELDS)}, and {_OF_PAYLOAD}NAME for a text of the payload"
            raise InvalidRequest(_FIRST_LINE, f"{shown(name)} names no field", allowed=allowed)
        if times > 1:
            raise InvalidRequest(_FIRST_LINE, f"it names {shown(name)} twice")
    if not names or ("payload" in names and any(name.startswith(_OF_PAYLOAD) for name in names)):
        raise InvalidRequest(_FIRST_LINE, "it names no field, or payload and parts of it")
    return names


def _by_name(names: list[str], cells: list[str]) -> dict[str, Any]:
    _check_utf8(_LINE, cells)
    if len(cells) != len(names):
        raise InvalidRequest(_LINE, f"it has {len(cells):,} cells", allowed=f"{len(names):,}, as the first line")
    given = {name: cell for name, cell in zip(names, cells, strict=True) if cell != ""}
    of_payload = {
        name.removeprefix(_OF_PAYLOAD): given.pop(name)
        for name in names
        if name.startswith(_OF_PAYLOAD) and name in given
    }
    found: dict[str, Any] = dict(given)
    if of_payload:
        found["payload"] = of_payload
    elif "payload" in given:
        found["payload"] = _value("payload", given["payload"])
    if "priority" in given:
        found["priority"] = _value("priority", given["priority"])
    return found


def _value(field: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidRequest(field, "it is no JSON") from None


def _read(number: int, read: Callable[[T], Mapping[str, Any]], raw: T) -> Line:
    try:
        given = read(raw)
        for name in given:
            if name not in FIELDS and name not in TOLD:
                raise InvalidRequest(name, "there is no such field", allowed=", ".join(FIELDS))
        fields = {
            _MOMENTS.get(name, name): _moment(name, each) if name in _MOMENTS else each
            for name, each in given.items()
            if name in FIELDS
        }
        return Line(number, fields if fields.get("priority", 0) is not None else {**fields, "priority": 0})
    except InvalidRequest as problem:
        return Line(number, problem=problem)


def _moment(field: str, given: object) -> int | None:
    if given is None:
        return None
    try:
        moment = datetime.fromisoformat(cast("str", given))
        if moment.tzinfo is None:
            raise ValueError
    except (TypeError, ValueError):
        raise InvalidRequest(field, "it is no time", allowed="RFC 3339, like 2030-01-31T12:00:00Z") from None
    return int(moment.timestamp() * 1000)
