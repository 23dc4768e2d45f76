"""Lists the pods, then watches them, and begins again when the connection breaks, in a thread that reports changes.

In the flow: between the API server and `watching.py`, for one window. The stream tracks resource versions, also by
bookmarks. If its version is too old (410), it lists again and reports pods missing from the new list as gone. Every
watch is short and the server has to end it in time, so a half-open connection is noticed within seconds. Delays after
failures grow. The thread ends with its window, or when it is closed. The next window continues from the state at that
time, its past, since listing thousands of pods takes the API server seconds, in which no end is noticed. A past is
valid two hundred times as long as its list took. So where pods are few, each window begins with a list.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Final

from pydantic import ValidationError

from ...configs.logger import Logger
from .bytestream import ByteStream
from .client import ClusterApi
from .faults import ApiError, Fault, watch_error
from .objects import BookmarkEvent, ErrorEvent, Pod, read_event
from .patience import Patience

log = Logger(__name__)

#: The length of one watch request; a longer window consists of several. An idle server sends nothing before its end.
_LONGEST_WATCH_SECONDS: Final = 15
_SLACK_SECONDS: Final = 5.0
#: A watch that ends earlier, without an event, counts as a failure.
_TOO_SHORT_SECONDS: Final = 0.5
#: The pods are listed again after so many times as long as the last list took, and after this time at most.
_PAST_FOR_A_LIST: Final = 200.0
_LONGEST_PAST_SECONDS: Final = 300.0
#: A thread that is still opening its watch ends by itself soon, and is not waited for any longer.
_CLOSED_WITHIN_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Seen:
    """The pod is new or has changed; this is its present state."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class Left:
    """The pod is gone, or not among the selected any more; this is its last known state."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class Listed:
    """All existing pods have been reported."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The previous stream's pods: the watch has begun, and will report every change since this state."""

    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """The state of a stream at its end, from which the next one continues."""

    pods: dict[str, Pod]
    version: str
    list_again_at: float


class PodStream:
    """Reports the changes of the selected pods, in order, from a thread of its own.

    Args:
        api: The cluster.
        selector: The labels of the pods.
        window_seconds: After which time it ends by itself.
        tell: Called with each report, in that thread.
        past: The state of the stream before; None: begin with a list.
    """

    def __init__(
        self,
        api: ClusterApi,
        selector: str,
        window_seconds: float,
        tell: Callable[[Seen | Left | Listed | Remembered], None],
        past: Past | None = None,
    ) -> None:
        #: Why it sees nothing at the moment.
        self.failure: ApiError | None = None
        #: When the last page of a list arrived, on the monotonic clock.
        self.heard_at = 0.0
        self._api = api
        self._tell = tell
        self._selector = selector
        self._until = time.monotonic() + window_seconds
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._open: ByteStream | None = None
        self._known: dict[str, Pod] = {}
        self._version: str | None = None
        self._list_again_at = 0.0
        self._untold = past is not None and time.monotonic() < past.list_again_at
        if past is not None and self._untold:
            self._known, self._version, self._list_again_at = past.pods, past.version, past.list_again_at
        self._thread = threading.Thread(target=self._run, name="pod-stream", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop at once, even during a read."""
        with self._lock:
            self._closed.set()
            if self._open is not None:
                self._open.close()
        self._thread.join(timeout=_CLOSED_WITHIN_SECONDS)

    @property
    def past(self) -> Past | None:
        """The state that the next stream may continue from, once this one is closed."""
        if self._thread.is_alive() or self._version is None:
            return None
        return Past(self._known, self._version, self._list_again_at)

    def _run(self) -> None:
        patience = Patience(float("inf"))
        while not self._closed.is_set() and time.monotonic() < self._until:
            try:
                if self._version is None:
                    self._list()
                progressed = self._watch()
                self.failure = None
            except ApiError as error:
                progressed = False
                self._note(error)
            if progressed:
                patience.reset()
            elif self._closed.wait(min(patience.delay(self.failure), max(0.0, self._until - time.monotonic()))):
                return

    def _note(self, error: ApiError) -> None:
        if self._closed.is_set():
            return
        self.failure = error
        if error.fault is Fault.EXPIRED:
            self._version = None
        log.info("watch_interrupted", fault=error.fault.name, error=str(error))

    def _list(self) -> None:
        if self._untold:
            self._known, self._untold = {}, False  # they were not reported in this window
        began = time.monotonic()
        pods, self._version = self._api.list_pods(self._selector, self._hear)
        now = time.monotonic()
        self._list_again_at = now + min(_LONGEST_PAST_SECONDS, _PAST_FOR_A_LIST * (now - began))
        found = {pod.uid: pod for pod in pods}
        for gone in [pod for uid, pod in self._known.items() if uid not in found]:
            self._tell(Left(gone))
        for pod in pods:
            self._tell(Seen(pod))
        self._known = found
        self._tell(Listed())

    def _hear(self) -> None:
        self.heard_at = time.monotonic()

    def _watch(self) -> bool:
        """Watch once. Returns whether the watch had an event, or lasted long enough."""
        began = time.monotonic()
        seconds = max(1, min(_LONGEST_WATCH_SECONDS, ceil(self._until - began)))
        stream = self._api.watch_pods(self._selector, self._version or "", seconds, slack_seconds=_SLACK_SECONDS)
        with self._lock:
            self._open = stream
            if self._closed.is_set():
                stream.close()
        if self._untold:
            self._untold = False
            self._tell(Remembered(tuple(self._known.values())))
        seen = False
        try:
            for line in stream.lines():
                self._take(line)
                seen = True
        finally:
            with self._lock:
                self._open = None
        return seen or time.monotonic() - began > _TOO_SHORT_SECONDS

    def _take(self, line: bytes) -> None:
        try:
            event = read_event(line)
        except ValidationError as error:
            # Probably a proxy before the API server answered: list again.
            raise ApiError(Fault.EXPIRED, f"the watch sent something unreadable: {error}") from error
        if isinstance(event, ErrorEvent):
            raise watch_error(event.object)
        if isinstance(event, BookmarkEvent):
            self._version = event.object.metadata.resource_version
            return
        pod = event.object
        self._version = pod.metadata.resource_version
        if event.type == "DELETED":
            self._known.pop(pod.uid, None)
            self._tell(Left(pod))
        else:
            self._known[pod.uid] = pod
            self._tell(Seen(pod))
