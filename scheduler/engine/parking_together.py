"""Parks the messages of several sending threads in one call.

In the flow: `Transitions.park` comes here, so every `send()` does; who sends alone makes his call at once. Each is
accepted or refused for itself. Who was told that Redis did not answer, or was interrupted, is done with it: nothing is
put into a later call behind his back.
"""

import threading
from collections.abc import Callable
from typing import Final

from ..model.errors import QueueRejected
from ..transport.forks import anew_in_child
from ..transport.scripts import Call
from .grants import Parked
from .joining import Ask, Batch, Joining
from .parking import PARKED_A_CALL, Candidate, park_arguments, read_parked

MOST_BYTES: Final = 1024 * 1024
"""In one call; a larger one goes alone."""


class Sent(Ask):
    """One that is to be accepted."""

    is_owed = False

    def __init__(self, candidate: Candidate) -> None:
        super().__init__()
        self.candidate = candidate
        self.outcome: Parked | QueueRejected | None = None


class ParkingTogether:
    """Safe to share between threads and across forks."""

    def __init__(self, prepare: Callable[..., Call], deadline_seconds: float) -> None:
        """Args: `prepare`, makes a call of park with these arguments; `deadline_seconds`, of one call."""
        self._prepare = prepare
        self._begin_anew()
        anew_in_child(self._begin_anew)
        self._joining = Joining[Sent, Batch[Sent]](self._work, _fitting, Batch, deadline_seconds)

    def _begin_anew(self) -> None:
        self._preparing = threading.RLock()

    def park(self, candidate: Candidate) -> Parked | QueueRejected:
        """Accept one, or say why not.

        Raises:
            QueueUnavailable: If Redis did not answer; it may have been accepted.
        """
        sent = Sent(candidate)
        self._joining.do(sent)
        if sent.outcome is None:
            raise RuntimeError("it was sent without an outcome")
        return sent.outcome

    def _work(self, batch: Batch[Sent]) -> None:
        with self._preparing:
            # A leader that was stopped for long may meet the one that took its place: both make the same call.
            if batch.call is None:
                batch.call = self._prepare(*(part for ask in batch.asks for part in park_arguments(ask.candidate)))
        for ask, reply in zip(batch.asks, batch.call.run(), strict=True):
            ask.outcome = read_parked(ask.candidate, reply)


def _fitting(waiting: list[Sent]) -> list[Sent]:
    size_bytes = 0
    for count, ask in enumerate(waiting[:PARKED_A_CALL]):
        size_bytes += len(ask.candidate.event) + len(ask.candidate.message)
        if size_bytes > MOST_BYTES and count:
            return waiting[:count]
    return waiting[:PARKED_A_CALL]
