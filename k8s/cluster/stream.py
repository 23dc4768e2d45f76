"""Lists the pods, then watches them from there, and begins again when that breaks: a thread that tells what it sees.

In the flow: between the API server and `watching.py`, for one window. Versions are tracked here, through bookmarks too;
one that is too old (410) leads to a new list, whose difference to what was known is told as pods that left. Every watch
is short and its connection expected to speak by its end, so a half-open one is found out within seconds; failures are
followed by growing delays. The thread ends with its window, or when it is closed. What it knows then is the next
window's past, which goes on from there: a list of thousands of pods takes the API server seconds, in which no end is
heard of. A past is good for two hundred times as long as its list took, so where pods are few, each window has a list.
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

#: Of one request; a longer window consists of several. An idle server sends nothing up to then.
_LONGEST_WATCH_SECONDS: Final = 15
_SLACK_SECONDS: Final = 5.0
#: A watch that ends sooner, without an event, counts as a failure.
_TOO_SHORT_SECONDS: Final = 0.5
#: What is known is listed anew after so many times as long as the list took, and this at most.
_PAST_FOR_A_LIST: Final = 200.0
_LONGEST_PAST_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Seen:
    """The pod looks like this."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class Left:
    """The pod is gone, or not among the selected any more; this is how it looked last."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class Listed:
    """All pods that there are were told."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The server answers, and tells what became of these since they were seen like this."""

    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """What a stream knew at its end: the next one goes on from there."""

    pods: dict[str, Pod]
    version: str
    list_again_at: float


class PodStream:
    """What becomes of the selected pods, in order, told by a thread of its own.

    Args:
        api: The cluster.
        selector: The labels of the pods.
        window_seconds: When it ends by itself.
        tell: Called in that thread.
        past: Of the stream before; None: it begins with a list.
    """

    def __init__(
        self,
        api: ClusterApi,
        selector: str,
        window_seconds: float,
        tell: Callable[[Seen | Left | Listed | Remembered], None],
        past: Past | None = None,
    ) -> None:
        #: Why it is not seeing anything at the moment.
        self.failure: ApiError | None = None
        #: When a part of a list came last, on the monotonic clock.
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
        """Stop at once, also in the middle of a read."""
        with self._lock:
            self._closed.set()
            if self._open is not None:
                self._open.close()
        self._thread.join(timeout=1.0)

    @property
    def past(self) -> Past | None:
        """What the next stream may go on from, when this one is closed."""
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
            self._known, self._untold = {}, False  # nobody has heard of them in this window
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
        """Watch once. Returns whether it went well for a while."""
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
            # Somebody between us and the API server speaks another language: list again.
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
