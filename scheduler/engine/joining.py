"""Combines calls of several threads: what is asked while a call is under way goes together in the next.

In the flow: whoever asks and finds no call under way leads. It makes one call for all that is asked for, and passes the
lead to the first of those that came meanwhile. So nothing waits to fill a batch, and who asks alone is served at once.

A batch belongs to nobody's thread. One whose reply was lost, or whose leader was interrupted or died, is repeated byte
for byte by whoever leads next, before anything else, and takes effect once by its request token. So what is done with
an answer has to be repeatable, too. A lead that was not given back, as after an exception that was thrown into its
thread in that very moment, is taken by the first who notices. If the process dies here, leases run out.
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
"""Between looks of who waits whether the leader is there still; an answer wakes it at once."""
MARGIN_SECONDS: Final = 1.0
"""So much longer than the deadline of a call nobody leads."""


class Ask:
    """What one thread wants, from its first asking until it is answered."""

    is_owed = True
    """To be done whoever waits for it; else it is dropped when who asked for it was told that it failed, or waits no
    longer."""

    def __init__(self) -> None:
        self.is_done = False
        self.is_queued = False
        self.is_waited_for = False
        self.failure: QueueUnavailable | None = None
        """Why the last call failed: it may be asked for again, and takes effect once."""
        self._turn = threading.Lock()
        self._turn.acquire()

    def wait(self, seconds: float) -> None:
        """Wait until something has become of it, or it is this thread's turn to lead."""
        self._turn.acquire(timeout=seconds)

    def wake(self) -> None:
        """Let who waits look."""
        with suppress(RuntimeError):  # it was told already
            self._turn.release()


A = TypeVar("A", bound=Ask)


class Batch(Generic[A]):
    """What goes in one call."""

    def __init__(self, asks: list[A]) -> None:
        self.asks: Final = asks
        self.call: Call | None = None
        """Once it was prepared: the same from then on."""


B = TypeVar("B", bound=Batch[Any])


class _Lead:
    def __init__(self) -> None:
        self._thread = threading.current_thread()
        self._began = time.monotonic()

    def is_left(self, longest_seconds: float) -> bool:
        """Whether whoever had it has gone without giving it back."""
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
        """Nothing is asked yet.

        Args:
            work: Makes the call of a batch and does with the answer what is to be done. It is repeated if it fails.
            fitting: The first of those that wait, as many as go in one call.
            batch: Makes a batch of them.
            deadline_seconds: Of one call.
        """
        self._work = work
        self._fitting = fitting
        self._make_batch = batch
        self._longest_seconds = deadline_seconds + MARGIN_SECONDS
        self._begin_anew()
        anew_in_child(self._begin_anew)  # the parent's calls are the parent's, and so are its locks

    def _begin_anew(self) -> None:
        # Taken once more by a signal's handler that sends, in the middle of a send of the same thread.
        self._lock = threading.RLock()
        self._waiting: list[A] = []
        self._batch: B | None = None
        self._lead: _Lead | None = None

    def do(self, *asks: A) -> None:
        """Have something done, by this thread or another; what is done already is not done again.

        Raises:
            QueueUnavailable: If Redis did not answer. It may have been done: ask again with the same objects.
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
            with suppress(QueueUnavailable):  # what was asked for here is done
                self.tend()

    def post(self, *asks: A) -> None:
        """Have something done by whoever leads next, without waiting for it."""
        with self._lock:
            for ask in asks:
                ask.failure = None
                if not ask.is_queued:
                    self._waiting.append(ask)
                    ask.is_queued = True

    def tend(self) -> None:
        """Do what is left to do, if nobody leads.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        # Not for what comes meanwhile: whoever wants that leads for itself, and this thread has other things to do.
        for ask in list(self._waiting):
            while not ask.is_done:
                if not self._lead_once():
                    return

    @property
    def is_idle(self) -> bool:
        """Whether no call is under way, nor to be repeated."""
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
        """Make one call, if nobody leads; None if somebody does."""
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
            # An exception that was thrown into the thread may have struck there, too.
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
            # They stay among those that wait until they are done: whatever interrupts, none is forgotten.
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
            # If not, somebody else has done it while this thread was stopped, and some may be asked for once more.
            if self._batch is batch:
                for ask in batch.asks:
                    ask.is_done = True
                self._waiting = [ask for ask in self._waiting if not ask.is_done]
                self._batch = None
        for ask in batch.asks:
            ask.wake()

    def _fail(self, batch: B, error: QueueUnavailable) -> None:
        # All of them, or each would wait for a deadline of its own.
        with self._lock:
            if self._batch is not batch:
                return  # somebody else has done it while this thread was stopped
            waiting = self._waiting
            for ask in waiting:
                ask.failure = error
            self._waiting = [ask for ask in waiting if ask.is_owed]
            self._forget_batch()
        for ask in waiting:
            ask.wake()

    def _drop_left(self) -> None:
        """Drop what nobody waits for and nobody is owed. The lock is held."""
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
