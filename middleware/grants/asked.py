"""The requests that threads make of the exchange, and how many of them go in one call.

In the flow: `holding.py` and `pump.py` ask, `exchange.py` answers. If the process dies here, the leases run out.
"""

from dataclasses import dataclass
from typing import Final

from ...scheduler.engine.grants import Outcome
from ...scheduler.engine.joining import Ask
from ...scheduler.engine.settlements import MOST_SETTLEMENTS, Retry, Settlement
from .table import Entry

MOST_BYTES: Final = 1024 * 1024
"""Of settlements in one call; a larger one goes alone."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a call that asked for more found."""

    more: bool
    """Something may be admitted still: ask again at once, or, without a thread, as soon as one is free."""
    wait_ms: int | None
    """In how many ms something falls due or a lease ends, if that is known."""
    untold: bool
    """An outbox of these lanes has something."""
    started: int
    """So many were granted in this call and given to a thread."""


class Settling(Ask):
    """A grant that is given up."""

    def __init__(self, settlement: Settlement, entry: Entry | None = None) -> None:
        """What becomes of it is not known yet.

        Args:
            settlement: How.
            entry: The one that it settles, whose thread becomes free; None if none stands behind it any more.
        """
        super().__init__()
        self.settlement: Final = settlement
        self.entry: Final = entry
        self.alone = False
        """No other goes in the same call, since it failed."""
        self.outcome: Outcome | None = None

    def set_apart(self) -> None:
        """It failed, and is to be asked for again by itself, for as long as it takes: somebody has to mend the data."""
        self.outcome, self.alone, self.is_done, self.is_queued = None, True, False, False

    @property
    def size_bytes(self) -> int:
        """How much it adds to a call, about."""
        settlement = self.settlement
        return len(settlement.result) + (len(settlement.message) if isinstance(settlement, Retry) else 0)


class Asking(Ask):
    """Free threads look for work, or, without one, say that their lanes are live."""

    def __init__(self, lanes: tuple[str, ...], permits: int) -> None:
        super().__init__()
        self.lanes: Final = lanes
        self.permits: Final = permits
        """Taken for it; the call takes what else is free."""
        self.admitted: Admitted | None = None


def fitting(waiting: "list[Settling | Asking]") -> "list[Settling | Asking]":
    """The first of those that wait, as many as go in one call: of those that ask for more, one."""
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
