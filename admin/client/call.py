"""``Call``: one request, and the document that answers it.

In the flow: `calls` makes them, `wire` turns them into requests.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, Final, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

V1: Final = "/api/v1"
PIECE_BYTES: Final = 65_536
"""Of a file that is sent."""
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Content:
    """A file that is sent as it is, from its beginning, as often as it has to be."""

    file: BinaryIO
    media_type: str
    progress: Callable[[int], None] | None = None
    """Is told how many bytes were sent."""

    def size(self) -> int:
        """How many bytes it has."""
        return self.file.seek(0, os.SEEK_END)

    def pieces(self) -> Iterator[bytes]:
        """Yield it."""
        sent = self.file.seek(0)
        while piece := self.file.read(PIECE_BYTES):
            yield piece
            sent += len(piece)
            if self.progress is not None:
                self.progress(sent)


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request."""

    method: str
    path: str
    answer: type[T]
    """The document that comes back."""
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    """JSON; with `files`, the fields beside them."""
    files: Mapping[str, tuple[str, bytes]] | None = field(default=None, repr=False)
    """What is sent as files: name and content of each field."""
    content: Content | None = field(default=None, repr=False)
    """What is sent as the body itself."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    waits_seconds: float = 0
    """For how long the API may wait before it answers."""
    is_once: bool = False
    """Whether it may not be sent again, although it only reads by its method."""
    documents: tuple[int, ...] = ()
    """Which statuses beside those of success have the document."""

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be sent again when no answer came: it changes nothing, or is carried out once."""
        # What was deleted is not there the second time, and what was seen is not what is there then.
        is_put = self.method == "PUT" and self.headers.get("If-Match", "*") == "*"
        return (self.method == "GET" and not self.is_once) or is_put or "Idempotency-Key" in self.headers


def given(**values: Any) -> dict[str, Any]:
    """Return the parameters that have a value."""
    return {name: value for name, value in values.items() if value is not None and value != ()}


def between(start: datetime | None, end: datetime | None) -> dict[str, Any]:
    """Return the parameters of a span of time."""
    return {name: moment.isoformat() for name, moment in (("from", start), ("to", end)) if moment is not None}


def named(what: str, name: str) -> str:
    """Return the path of one of many, whatever its name has in it."""
    return f"{V1}/{what}/{quote(name, safe='')}"


def changing(path: str, answer: type[T], value: Mapping[str, Any] | None) -> Call[T]:
    """Set what stands at a path, or, without a value, lift it."""
    return Call("DELETE", path, answer) if value is None else Call("PUT", path, answer, body=value)
