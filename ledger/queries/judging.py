"""Judges a ledger: asks how far it has come, and says what is to be looked at.

In the flow: the command line asks here once, the API in the background. Reads only.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...scheduler.engine.journal_following import Follower
from ...scheduler.transport.scripts import Scripts
from ...scheduler.verdicts import Verdict, on_ledger, on_loss, on_notifications, on_triggers
from ..errors import LedgerError
from ..standing import Progress
from ..write_signs import WriteSigns


@dataclass(frozen=True, slots=True)
class Judged:
    """A ledger at one moment."""

    is_read: bool
    """Whether it can be read."""
    is_written: bool
    """Whether somebody writes it."""
    verdicts: list[Verdict]


def judged_ledger(progress: Callable[[], Progress], scripts: Scripts) -> Judged:
    """Return what there is to say of a ledger.

    Args:
        progress: Asks how far it has come, as `Asking.progress`.
        scripts: Of the queue whose history it is.

    Raises:
        QueueUnavailable: If Redis does not answer.
    """
    try:
        found = progress()
    except LedgerError:
        return Judged(False, False, list(on_ledger(is_read=False, is_written=False, behind=None, unwritten=None)))
    behind = None if found.position is None else Follower(scripts).behind(found.position)
    unwritten = WriteSigns(scripts).unwritten()
    told = list(on_ledger(is_read=True, is_written=found.is_written, behind=behind, unwritten=unwritten))
    lost = found.unrestored
    if lost is not None:
        told += on_loss(
            lost.since_ms,
            executions=lost.executions,
            changes=lost.changes,
            revived=lost.revived,
            living_again=lost.living_again,
            is_begun=lost.is_begun,
        )
    of_items = [*on_triggers(found.failing_triggers), *on_notifications(found.late_notifications)]
    return Judged(True, found.is_written, [*told, *of_items])
