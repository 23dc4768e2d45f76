"""Judges a ledger: asks how far it has come, and says what is to be looked at.

In the flow: the command line asks here once, the API in the background. Reads only.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...scheduler.engine.journal_following import Follower, Position
from ...scheduler.verdicts import Verdict, on_ledger
from ..errors import LedgerError


@dataclass(frozen=True, slots=True)
class Judged:
    """A ledger at one moment."""

    is_read: bool
    """Whether it can be read."""
    is_written: bool
    """Whether somebody writes it."""
    verdicts: list[Verdict]


def judged_ledger(progress: Callable[[], tuple[bool, Position | None]], follower: Follower) -> Judged:
    """Return what there is to say of a ledger.

    Args:
        progress: Asks whether somebody writes it and how far it has come, as `Asking.progress`.
        follower: The journal that it reads.

    Raises:
        QueueUnavailable: If Redis does not answer.
    """
    try:
        is_written, position = progress()
    except LedgerError:
        is_read, is_written, behind = False, False, None
    else:
        is_read, behind = True, None if position is None else follower.behind(position)
    return Judged(is_read, is_written, list(on_ledger(is_read=is_read, is_written=is_written, behind=behind)))
