"""Makes events of what an execution prints, and reads the id of the last one that a follower got.

In the flow: pieces are bytes, and may end in the middle of a character: such a rest waits for the next piece, or for
the end. The format is that of server-sent events (WHATWG HTML, 9.2). An id says up to where its follower has all.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...k8s.output import Piece
from ...scheduler.model.errors import InvalidRequest, shown
from ..answers.following import KINDS, OutputTold, Told

MOST_BYTES: Final = 8_192
"""How much of an output one event has at most."""
_DIGITS: Final = 18
_NAMES: Final = {kind: name for name, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Place:
    """Up to where a follower has everything."""

    attempt: int
    position: int

    @property
    def event_id(self) -> str:
        """As the id of an event."""
        return f"{self.attempt}.{self.position}"


def read_place(text: str) -> Place:
    """Return the place of an event's id.

    Raises:
        InvalidRequest: If it is none.
    """
    parts = text.split(".")
    if len(parts) == 2 and all(each.isascii() and each.isdecimal() and len(each) <= _DIGITS for each in parts):
        place = Place(*map(int, parts))
        if place.attempt > 0:
            return place
    raise InvalidRequest("Last-Event-ID", f"{shown(text)} is none", allowed="the id of an event")


def frame(told: Told, place: Place | None = None) -> bytes:
    """Return an event as it is sent."""
    # Escaped: there are readers of lines to whom some characters beyond ASCII end one.
    data = json.dumps(told.model_dump(mode="json"), separators=(",", ":"))
    named = "" if place is None else f"id: {place.event_id}\n"
    return f"{named}event: {_NAMES[type(told)]}\ndata: {data}\n\n".encode()


class Teller:
    """Tells of one attempt's output, piece by piece."""

    def __init__(self, attempt: int, told_until: int | None) -> None:
        """Args: `attempt`; `told_until`, the position up to which everything was told; None: nobody knows yet."""
        self.attempt = attempt
        self.told_until = told_until
        self._rest = b""

    def tell(self, piece: Piece) -> bytes:
        """Return the events of a piece; none yet, if it has no whole character."""
        before = b"" if piece.position == self._end else self.finish()
        begin, data = piece.position - len(self._rest), self._rest + piece.data
        whole = len(data) - _begun(data)
        self._rest = data[whole:]
        return before + b"".join(self._events(data[:whole], begin))

    def finish(self) -> bytes:
        """Return the events of what waits for the rest of a character: none comes any more."""
        rest, self._rest = self._rest, b""
        return b"".join(self._events(rest, self.told_until or 0))

    @property
    def _end(self) -> int:
        return (self.told_until or 0) + len(self._rest)

    def _events(self, data: bytes, begin: int) -> Iterator[bytes]:
        for cut in _cuts(data):
            end = begin + len(cut)
            text = cut.decode(errors="backslashreplace")
            yield frame(OutputTold(attempt=self.attempt, position=begin, text=text), Place(self.attempt, end))
            begin = self.told_until = end


def _cuts(data: bytes) -> Iterator[bytes]:
    begin = 0
    while begin < len(data):
        cut = data[begin : begin + MOST_BYTES]
        if begin + len(cut) < len(data):
            cut = cut[: len(cut) - _begun(cut)]
        yield cut
        begin += len(cut)


def _begun(data: bytes) -> int:
    """How many bytes at the end begin a character in UTF-8 that goes on behind them."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            has = 2 if byte & 0xE0 == 0xC0 else 3 if byte & 0xF0 == 0xE0 else 4 if byte & 0xF8 == 0xF0 else 1
            return back if back < has else 0
    return 0


def kept_frames(attempt: int, text: str) -> bytes:
    """Return the events of the end of an output that was kept, when its pod is gone."""
    frames, told = list[bytes](), 0
    for cut in _cuts(text.encode()):
        told += len(cut)
        frames.append(frame(OutputTold(attempt=attempt, position=None, text=cut.decode()), Place(attempt, told)))
    return b"".join(frames)
