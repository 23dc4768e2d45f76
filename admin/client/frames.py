"""``Frames``: reads server-sent events out of the bytes of an answer (WHATWG HTML, 9.2).

In the flow: bytes come in whatever pieces the network makes. Only line feeds and carriage returns end a line here; a
reader of text would also split at characters that may stand in the data.
"""

from dataclasses import dataclass
from typing import Final

MOST_BYTES: Final = 4_194_304
"""How long one event may be: whatever sends more is no API."""


class FrameTooLong(ValueError):
    """An event does not end."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it was sent."""

    name: str
    data: str
    event_id: str | None
    """None: it has none, and the last one counts on."""


class Frames:
    """Reads one answer."""

    def __init__(self) -> None:
        self.comments = 0
        """How many came: a connection without news is alive."""
        self._rest = b""
        self._name, self._data, self._id = "", list[str](), None
        self._bytes = 0

    def feed(self, piece: bytes) -> list[Frame]:
        """Return the events that a piece completes.

        Raises:
            FrameTooLong: If one is longer than `MOST_BYTES`.
        """
        found = list[Frame]()
        data = self._rest + piece
        # A carriage return at the end may be the first half of a line's end.
        held = data[-1:] if data.endswith(b"\r") else b""
        lines = data[: len(data) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + held
        for line in lines:
            self._bytes += len(line)
            if line:
                self._field(line)
            elif (frame := self._end()) is not None:
                found.append(frame)
        if self._bytes + len(self._rest) > MOST_BYTES:
            raise FrameTooLong(f"an event of more than {MOST_BYTES} bytes")
        return found

    def _field(self, line: bytes) -> None:
        name, _, text = line.decode(errors="replace").partition(":")
        value = text.removeprefix(" ")
        if not name:
            self.comments += 1
        elif name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value

    def _end(self) -> Frame | None:
        frame = Frame(self._name or "message", "\n".join(self._data), self._id) if self._data else None
        self._name, self._data, self._id, self._bytes = "", [], None, 0
        return frame
