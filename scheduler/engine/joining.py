"""Combines calls of several threads: requests that arrive during a call go together in the next one.

In the flow: a thread that asks and finds no call under way becomes the leader. It makes one call for all requests, and
passes the lead to the first thread that asked meanwhile. No request waits to fill a batch, and a lone one goes at once.

A batch belongs to no thread. If its reply was lost, or its leader was interrupted or died, the next leader repeats it
first, byte for byte; its request token makes it take effect once. So the handling of an answer must be repeatable, too.
A leader may fail to give the lead back, as when an exception is thrown into its thread at that very moment; then the
first thread that notices takes the lead. If the process dies here, leases run out.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

from ..model.errors import QueueUnavailable
from ..transport.forks import anew_in_child
from ..transport.scripts import Call

LOOK_SECONDS: Final = 0.25
"""How often a waiting thread checks that the leader still lives; an answer wakes it at once."""
MARGIN_SECONDS: Final = 1.0
"""A lead that lasts longer than the deadline of a call and this margin counts as abandoned."""


class Ask:
    """One thread's request, until it is answered."""

    is_owed = True
    """Whether to do it even if nobody waits for it. Else it is dropped once its thread was told of a failure, or
    stopped waiting."""

    def __init__(self) -> None:
        self.is_done = False
        self.is_queued = False
        self.is_waited_for = False
        self.failure: QueueUnavailable | None = None
        """Why the last call failed: the request may be repeated, and takes effect once."""
        self._turn = threading.Lock()
        self._turn.acquire()

    def wait(self, seconds: float) -> None:
        """Wait until the request is answered or has failed, or it is this thread's turn to lead."""
        self._turn.acquire(timeout=seconds)

    def wake(self) -> None:
        """Wake the waiting thread, so that it looks again."""
        with suppress(RuntimeError):  # it was woken already
            self._turn.release()


A = TypeVar("A", bound=Ask)


class Batch(Generic[A]):
    """The requests that go in one call."""

    def __init__(self, asks: list[A]) -> None:
        self.asks: Final = asks
        self.call: Call | None = None
        """The call, once it is prepared; the same from then on."""


B = TypeVar("B", bound=Batch[Any])


class _Lead:
    def __init__(self) -> None:
        self._thread = threading.current_thread()
        self._began = time.monotonic()

    def is_left(self, longest_seconds: float) -> bool:
        """Whether the leader has gone without giving the lead back."""
        return (
            self._thread is threading.current_thread()
            or not self._thread.is_alive()
            or time.monotonic() - self._began > longest_seconds
        )


class Joining(Generic[A, B]):
    """One call at a time, for all threads of the process. Safe to share between threads and across forks."""

    def __init__(
        self,
        work: "Callable[[B], None]",
        fitting: Callable[[list[A]], list[A]],
        batch: "Callable[[list[A]], B]",
        deadline_seconds: float,
    ) -> None:
        """Makes no call.

        Args:
            work: Makes the call of a batch and handles the answer. It is repeated if it fails.
            fitting: Selects the first of the waiting requests, as many as go in one call.
            batch: Makes a batch of them.
            deadline_seconds: The deadline of one call.
        """
        self._work = work
        self._fitting = fitting
        self._make_batch = batch
        self._longest_seconds = deadline_seconds + MARGIN_SECONDS
        self._begin_anew()
        anew_in_child(self._begin_anew)  # a forked child must not use its parent's calls and locks

    def _begin_anew(self) -> None:
        # Reentrant: a signal handler that sends may interrupt a send of the same thread, which holds the lock.
        self._lock = threading.RLock()
        self._waiting: list[A] = []
        self._batch: B | None = None
        self._lead: _Lead | None = None

    def do(self, *asks: A) -> None:
        """Have requests done, by this thread or another; those already done are not done again.

        Raises:
            QueueUnavailable: If Redis did not answer. They may have been done: ask again with the same objects.
        """
        try:
            for ask in asks:
                ask.is_waited_for = True
            self.post(*asks)
            for ask in asks:
                self._see_to(ask)
        finally:
            for ask in asks:
                ask.is_waited_for = False
        if self._is_left_alone:
            with suppress(QueueUnavailable):  # this thread's own requests are done
                self.tend()

    def post(self, *asks: A) -> None:
        """Leave requests to the next leader, without waiting for them."""
        with self._lock:
            for ask in asks:
                ask.failure = None
                if not ask.is_queued:
                    self._waiting.append(ask)
                    ask.is_queued = True

    def tend(self) -> None:
        """Do the requests that are left, if nobody leads.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        # Requests that arrive meanwhile are left out: their threads can lead, and this one has other things to do.
        for ask in list(self._waiting):
            while not ask.is_done:
                if not self._lead_once():
                    return

    @property
    def is_idle(self) -> bool:
        """Whether no call is under way and none has to be repeated."""
        return self._lead is None and self._batch is None

    @property
    def _is_left_alone(self) -> bool:
        return self._lead is None and bool(self._waiting) and not any(ask.is_waited_for for ask in self._waiting)

    def _see_to(self, ask: A) -> None:
        while not ask.is_done:
            if ask.failure is not None:
                raise ask.failure.with_traceback(None)
            if self._lead_once() is None and not ask.is_done:
                ask.wait(LOOK_SECONDS)

    def _lead_once(self) -> bool | None:
        """Make one call if nobody leads, and return whether there was one to make; None if somebody else leads."""
        lead = _Lead()
        try:
            try:
                if not self._take(lead):
                    return None
                batch = self._next()
                if batch is not None:
                    self._run(batch)
                return batch is not None
            finally:
                self._pass_on(lead)
        finally:
            # Repeated, since an exception thrown into the thread may have interrupted the call above.
            self._pass_on(lead)

    def _take(self, lead: _Lead) -> bool:
        with self._lock:
            if self._lead is None or self._lead.is_left(self._longest_seconds):
                self._lead = lead
            return self._lead is lead

    def _next(self) -> B | None:
        with self._lock:
            if not all(ask.is_owed or ask.is_waited_for for ask in self._waiting):
                self._drop_left()
            # The batch's requests stay in the waiting list until they are done, so an interruption loses none.
            if self._batch is None and self._waiting:
                self._batch = self._make_batch(self._fitting(self._waiting))
            return self._batch

    def _run(self, batch: B) -> None:
        try:
            self._work(batch)
        except QueueUnavailable as error:
            self._fail(batch, error)
            raise
        with self._lock:
            # If not, another thread did the batch while this one was stopped, and some may have been asked for again.
            if self._batch is batch:
                for ask in batch.asks:
                    ask.is_done = True
                self._waiting = [ask for ask in self._waiting if not ask.is_done]
                self._batch = None
        for ask in batch.asks:
            ask.wake()

    def _fail(self, batch: B, error: QueueUnavailable) -> None:
        # All waiting requests fail, since else each would wait for a deadline of its own.
        with self._lock:
            if self._batch is not batch:
                return  # another thread did the batch while this one was stopped
            waiting = self._waiting
            for ask in waiting:
                ask.failure = error
            self._waiting = [ask for ask in waiting if ask.is_owed]
            self._forget_batch()
        for ask in waiting:
            ask.wake()

    def _drop_left(self) -> None:
        """Drop requests that nobody waits for, unless they are owed. The caller holds the lock."""
        self._waiting = [ask for ask in self._waiting if ask.is_owed or ask.is_waited_for]
        self._forget_batch()

    def _forget_batch(self) -> None:
        if self._batch is not None and not any(ask in self._waiting for ask in self._batch.asks):
            self._batch = None

    def _pass_on(self, lead: _Lead) -> None:
        with self._lock:
            if self._lead is not lead:
                return
            self._lead = None
            following = next((ask for ask in self._waiting if ask.is_waited_for and ask.failure is None), None)
        if following is not None:
            following.wake()
