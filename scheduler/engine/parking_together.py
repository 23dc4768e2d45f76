"""Parks the messages of several sending threads in one call.

In the flow: `Transitions.park`, and so every `send()`, comes here; a thread that sends alone makes its call at once.
Each message is accepted or refused on its own. Once a sender was told that Redis did not answer, or was interrupted,
its message is dropped: no later call sends it without the sender's knowledge.
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
"""The size limit of one call; a larger message goes alone."""


class Sent(Ask):
    """A request to park one candidate."""

    is_owed = False

    def __init__(self, candidate: Candidate) -> None:
        super().__init__()
        self.candidate = candidate
        self.outcome: Parked | QueueRejected | None = None


class ParkingTogether:
    """Parks candidates of several threads. Safe to share between threads and across forks."""

    def __init__(self, prepare: Callable[..., Call], deadline_seconds: float) -> None:
        """Args: `prepare`, which makes a call of park with given arguments; `deadline_seconds`, of one call."""
        self._prepare = prepare
        self._begin_anew()
        anew_in_child(self._begin_anew)
        self._joining = Joining[Sent, Batch[Sent]](self._work, _fitting, Batch, deadline_seconds)

    def _begin_anew(self) -> None:
        self._preparing = threading.RLock()

    def park(self, candidate: Candidate) -> Parked | QueueRejected:
        """Accept a candidate, or return why not.

        Raises:
            QueueUnavailable: If Redis did not answer; the candidate may have been accepted.
        """
        sent = Sent(candidate)
        self._joining.do(sent)
        if sent.outcome is None:
            raise RuntimeError("it was sent without an outcome")
        return sent.outcome

    def _work(self, batch: Batch[Sent]) -> None:
        with self._preparing:
            # A leader that was stopped for long may resume beside its replacement: both then make the same call.
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
