"""``Following``: one follower of a stream: what it asks for, what it got, and how long it waits before it asks again.

In the flow: both clients drive it; it sends nothing by itself. What it knows is lost with its process: whoever wants to
go on later keeps the id of the last event.
"""

import random
from typing import Any, Final, Generic, TypeVar

import httpx
from pydantic import BaseModel

from .errors import ApiUnavailable
from .frames import Frames
from .streams import RESET, Reset, Stream
from .wire import AGAIN, TIMEOUT_SECONDS, TRIES, address_of, refusal_of

SILENT_SECONDS: Final = 45.0
"""The API sends a comment every 15 s: a connection on which nothing came for so long is lost."""
FIRST_PAUSE_SECONDS: Final = 1.0
MOST_PAUSE_SECONDS: Final = 30.0
_TOO_MANY: Final = 429
T = TypeVar("T", bound=BaseModel)


class Following(Generic[T]):
    """One follower."""

    def __init__(self, stream: Stream[T], timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Args: `stream`; `timeout_seconds`, how long the beginning of an answer may take."""
        self.has_ended = False
        self._stream = stream
        self._timeout_seconds = timeout_seconds
        self._last_event_id = stream.last_event_id
        self._frames = Frames()
        self._was_answered = False
        self._lost = 0
        """How often in a row the connection was lost, or none was made."""

    def request(self) -> dict[str, Any]:
        """Return the arguments of httpx's `stream`, for the next connection."""
        self._frames = Frames()
        headers = {"Accept": "text/event-stream"}
        if self._last_event_id is not None:
            headers["Last-Event-ID"] = self._last_event_id
        return {
            "method": "GET",
            "url": self._stream.path,
            "params": dict(self._stream.query) or None,
            "headers": headers,
            "timeout": httpx.Timeout(self._timeout_seconds, read=SILENT_SECONDS),
        }

    def begin(self, response: httpx.Response) -> list[Reset]:
        """Take the head of an answer that was read as far as it is no success; what has to be told first.

        Raises:
            ApiProblem: If the API refuses for good.
            ApiUnavailable: If something else answered.
            TryAgain: If it answered before, and cannot now.
        """
        if self._was_answered and response.status_code in (*AGAIN, _TOO_MANY):
            asked = response.headers.get("Retry-After", "")
            raise TryAgain(float(asked) if asked.isdecimal() else 0.0)
        if not response.is_success:
            raise refusal_of(response)
        if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
            raise ApiUnavailable("its answer is no stream of events", url=address_of(response))
        is_blind = self._was_answered and self._last_event_id is None and self._stream.needs_reset
        self._was_answered = True
        return [Reset()] if is_blind else []

    def feed(self, piece: bytes, url: str) -> list[T | Reset]:
        """Return the events that a piece of the answer completes.

        Raises:
            ApiUnavailable: If they are none of the API's.
        """
        found = list[T | Reset]()
        try:
            for frame in self._frames.feed(piece):
                told = Reset() if frame.name == RESET else self._stream.read(frame)
                # After a reset, events go on from now: what came before is no place to go on at.
                self._last_event_id = frame.event_id or (None if frame.name == RESET else self._last_event_id)
                self._lost = 0
                if told is None:
                    continue
                found.append(told)
                if not isinstance(told, Reset) and self._stream.is_end(told):
                    self.has_ended = True
                    return found
        except ValueError:
            raise ApiUnavailable("what it sends is none of its events", url=url) from None
        if self._frames.comments > 1:
            # It lived for longer than it took to be made.
            self._lost = 0
        return found

    def pause_seconds(self, at_least_seconds: float = 0.0) -> float:
        """Return how long to wait before the next connection; longer each time, and not as long as others do."""
        pause = min(MOST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0**self._lost)
        self._lost = min(self._lost + 1, 16)
        return max(at_least_seconds, pause * random.uniform(0.5, 1.0))

    def check_goes_on(self, error: Exception, url: str) -> None:
        """Refuse to ask again and again where nothing ever answered: it is the address that is wrong.

        Raises:
            ApiUnavailable: If no connection was made so far, however often it was tried.
        """
        if not self._was_answered and self._lost + 1 >= TRIES:
            raise ApiUnavailable(str(error) or type(error).__name__, url=url) from error


class TryAgain(Exception):
    """The API is there and cannot answer yet."""

    def __init__(self, pause_seconds: float) -> None:
        """Args: `pause_seconds`, for how long it asks to be waited for."""
        super().__init__(pause_seconds)
        self.pause_seconds = pause_seconds
