"""The requests of threads to the exchange, and the choice of those that go in one call.

In the flow: `holding.py` and `pump.py` make them, `exchange.py` answers. If the process dies here, the leases run out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...scheduler.engine.grants import Outcome
from ...scheduler.engine.joining import Ask
from ...scheduler.engine.settlements import MOST_SETTLEMENTS, Retry, Settlement
from .table import Entry

MOST_BYTES: Final = 1024 * 1024
"""The most bytes of settlements in one call; a larger settlement goes alone."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The answer to a request for executions."""

    more: bool
    """More executions may be admitted: ask again at once, or as soon as a thread is free."""
    wait_ms: int | None
    """In how many ms the next execution falls due or the next lease ends, if that is known."""
    untold: bool
    """Whether an outbox of these lanes holds anything."""
    started: int
    """How many executions were granted in this call and given to threads."""


class Settling(Ask):
    """A request to settle one grant."""

    def __init__(self, settlement: Settlement, entry: Entry | None = None) -> None:
        """Make a request that has no outcome yet.

        Args:
            settlement: How the grant is settled.
            entry: The grant's entry, whose thread becomes free; None if no thread stands behind the grant any more.
        """
        super().__init__()
        self.settlement: Final = settlement
        self.entry: Final = entry
        self.alone = False
        """Whether it goes in a call of its own, since it failed before."""
        self.outcome: Outcome | None = None

    def set_apart(self) -> None:
        """Make a failed request ready for calls of its own, which repeat until somebody has mended the data."""
        self.outcome, self.alone, self.is_done, self.is_queued = None, True, False, False

    @property
    def size_bytes(self) -> int:
        """About how many bytes it adds to a call."""
        settlement = self.settlement
        return len(settlement.result) + (len(settlement.message) if isinstance(settlement, Retry) else 0)


class Asking(Ask):
    """A request of free threads for executions; without free threads, it only marks the lanes as live."""

    def __init__(self, look: Callable[[], tuple[str, ...]], permits: int) -> None:
        """Make a request that has no answer yet.

        Args:
            look: Returns the lanes from which executions may be admitted. It is called when the call is prepared: a
                lane whose consumer comes while the request waits for its turn must not be passed over.
            permits: The permits taken for this request; the call also takes all other free permits.
        """
        super().__init__()
        self.look: Final = look
        self.lanes: tuple[str, ...] = ()
        """The lanes that were asked for, once the call is prepared."""
        self.permits: Final = permits
        self.admitted: Admitted | None = None


def fitting(waiting: "list[Settling | Asking]") -> "list[Settling | Asking]":
    """Choose the first waiting requests, as many as fit in one call; at most one of them is an `Asking`."""
    chosen: list[Settling | Asking] = []
    size_bytes, is_asked = 0, False
    for ask in waiting:
        if isinstance(ask, Asking):
            if not is_asked:
                chosen.append(ask)
            is_asked = True
            continue
        size_bytes += ask.size_bytes
        goes_alone = ask.alone or size_bytes > MOST_BYTES
        if chosen and (goes_alone or len(chosen) - is_asked == MOST_SETTLEMENTS):
            break
        chosen.append(ask)
        if goes_alone:
            break
    return chosen
