"""The round of a process whose code waits for slots or holds some: it says that it lives, and hears what happened.

In the flow: `scheduler/slots/` calls this about every second while something of the process waits, and at once when it
is woken. News stay in Redis until a later round says that they arrived. If the process dies here, what it waits for
ends, and what it holds is taken back when its lease runs out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..model.states import State
from ..transport.scripts import Scripts

_GRANTED: Final = "GRANTED"


@dataclass(frozen=True, slots=True)
class SlotGranted:
    """The execution holds a slot."""

    attempt: int
    nonce: str


@dataclass(frozen=True, slots=True)
class SlotEnded:
    """The execution ended, and its process did not ask for that."""

    state: State
    reason: str


@dataclass(frozen=True, slots=True)
class Attendance:
    """The answer to a round."""

    lease_ms: int
    """How long leases are, and for how long the process counts as living."""
    live_count: int
    """How many of its executions wait or hold a slot."""
    news: dict[str, SlotGranted | SlotEnded]
    """By execution."""
    yielded: frozenset[str]
    """Lanes in which there is room that is left to executions of workers, which were accepted before."""
    wait_ms: int | None
    """Until a rate opens a gate to one of the lanes; None: none does."""


class Attending:
    """The rounds on one server. Safe to share between threads."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._attend = scripts.script("attend", "owner lanes insisted received")

    def attend(
        self, owner: str, lanes: Sequence[str], *, insisted: Sequence[str] = (), received: Sequence[str] = ()
    ) -> Attendance:
        """Make a round.

        Args:
            owner: The process's name in its executions' ids.
            lanes: The lanes in which it waits.
            insisted: Those of them in which nothing is left to others any more.
            received: Executions whose news arrived.

        Raises:
            QueueUnavailable: If Redis did not answer; the next round has the same news.
        """
        lease_ms, live_count, news, yielded, wait_ms = self._scripts.call(
            self._attend, owner, "\n".join(lanes), "\n".join(insisted), "\n".join(received)
        )
        told = {name.decode(): _read(text.decode()) for name, text in zip(news[::2], news[1::2], strict=True)}
        return Attendance(
            lease_ms=int(lease_ms),
            live_count=int(live_count),
            news=told,
            yielded=frozenset(lane.decode() for lane in yielded),
            wait_ms=int(wait_ms) if wait_ms >= 0 else None,
        )


def _read(text: str) -> SlotGranted | SlotEnded:
    first, _, rest = text.partition(" ")
    if first == _GRANTED:
        attempt, nonce = rest.split(" ")
        return SlotGranted(int(attempt), nonce)
    return SlotEnded(State(first), rest)
