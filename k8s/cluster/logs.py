"""Reads a pod's whole log, and follows it while it grows, for ``bandmaster logs`` and for those who follow by the API.

In the flow: read-only, when a user asks for it. A broken connection, a restarted API server or a program that is silent
for long does not end it: the log is opened again, and the bytes that were shown already are counted and skipped. Nodes
keep about the last 10 MiB of a log and rotate it into files, of which the API shows only the newest; after a rotation
some output may be missing. A reading that is closed ends at once where it waits for the program's output; where it
waits for the API server's first answer it ends with that, or when the time for it is over: a minute at most. A program
that may not read pods is told so at once, as nothing is gained by asking again.
"""

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final

from ..errors import PodNotFound, PodsForbidden
from ..output import Closing, Piece
from .bytestream import is_log_gone, without_runtime_error
from .client import ClusterApi
from .faults import ApiError, Fault
from .objects import Pod
from .outcome import look, started
from .patience import patiently

_READ_WITHIN_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.5
#: If a program is silent for so long, its pod is read and its log opened again.
_IDLE_SECONDS: Final = 60.0
#: How long following waits for a cluster that does not answer.
_FOLLOW_THROUGH_SECONDS: Final = 300.0


def read_log(
    api: ClusterApi,
    name: str,
    closing: Closing,
    *,
    follow: bool,
    tail_bytes: int | None,
    after: int | None = None,
) -> Iterator[Piece]:
    """Read a pod's log from its beginning, from so many bytes before its present end, or after so many bytes.

    Raises:
        PodNotFound: There is no such pod; the call itself raises it.
        PodsForbidden: This program may not read pods, or their logs; also in the middle.
    """
    with _told_if_denied():
        pod = patiently(_READ_WITHIN_SECONDS, lambda: api.get_pod(name))
    if pod is None:
        raise PodNotFound(name)
    return _read(api, pod, closing, follow=follow, after=after, tail_bytes=tail_bytes)


@contextmanager
def _told_if_denied() -> Generator[None]:
    try:
        yield
    except ApiError as error:
        if error.fault is not Fault.DENIED:
            raise
        raise PodsForbidden(str(error)) from error


def _read(
    api: ClusterApi, pod: Pod, closing: Closing, *, follow: bool, after: int | None, tail_bytes: int | None
) -> Iterator[Piece]:
    shown = after or 0
    if after is None and (tail_bytes is not None or not follow):
        kept: deque[bytes] = deque()
        held = 0
        for chunk in _open(api, pod.name, closing, follow=False):
            if tail_bytes is None:
                yield Piece(chunk, shown)
            shown += len(chunk)
            if tail_bytes is None:
                continue
            kept.append(chunk)
            held += len(chunk)
            while kept and held - len(kept[0]) >= tail_bytes:
                held -= len(kept.popleft())
        if tail_bytes:
            tail = b"".join(kept)[-tail_bytes:]
            yield Piece(tail, shown - len(tail))
    if follow:
        yield from _follow(api, pod, shown, closing)


def _follow(api: ClusterApi, pod: Pod, shown: int, closing: Closing) -> Iterator[Piece]:
    while True:
        # Checked before reading, so that everything written before the end is surely read.
        with _told_if_denied():
            now = patiently(_FOLLOW_THROUGH_SECONDS, lambda: None if closing.is_closed else api.get_pod(pod.name))
        if now is None or now.uid != pod.uid:
            return
        sight = look(now)
        over = sight is None or (sight.status.outcome is not None and sight.certain)
        if started(now):
            position = 0
            try:
                for chunk in _open(api, pod.name, closing, follow=not over):
                    new = chunk[max(0, shown - position) :]
                    position += len(chunk)
                    if new:
                        yield Piece(new, shown)
                        shown += len(new)
            except ApiError as error:
                # The program was silent, or the connection broke: read the pod, and open the log again.
                if not error.passing:
                    raise
                over = False
        if over or closing.wait(_POLL_SECONDS):
            return


def _open(api: ClusterApi, name: str, closing: Closing, *, follow: bool) -> Iterator[bytes]:
    try:
        with _told_if_denied():
            stream = api.read_log(name, follow=follow, idle_seconds=_IDLE_SECONDS if follow else None)
    except ApiError as error:
        if error.fault in (Fault.REJECTED, Fault.NOT_FOUND):
            return  # not started yet, or the log is gone
        raise
    with closing.holding(stream):
        for chunk in stream:
            if not is_log_gone(chunk):
                yield without_runtime_error(chunk) if follow else chunk
