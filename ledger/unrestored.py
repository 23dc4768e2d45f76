"""What a Redis that began anew may lack, and nobody has restored: work, ends, and what operators set.

In the flow: whoever judges a ledger, and its metrics, ask here each time. Reads only. A rebuild tells the new journal
that it has come to its end; once that is read, nothing is missing here, whatever it could not restore: it has said so.
A second loss before that takes nothing away from the first. A rebuild that died in between has made changes, its pause
of everything first, and restored nothing as far as is known here: all is told as before, and that it has not ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, case, exists, func, or_, select, tuple_

from ..scheduler.engine.journal import Verb
from .database import now_ms
from .schema.tables import changes, executions, journals

TOLD_MS: Final = 7 * 24 * 3_600_000
"""For so long after the loss it is told: whoever wants nothing back has no reason to hear of it for ever."""
REBUILD: Final = "bandmaster ledger rebuild"
"""Under this name a rebuild makes the changes of operators again."""
_VALUES: Final = (Verb.LIMIT, Verb.RATE, Verb.SCHEDULE, Verb.SET)
_PAUSES: Final = (Verb.PAUSE, Verb.RESUME)
_LIVES: Final = (executions.c.ended_ms.is_(None), executions.c.lost_ms.is_(None))
_DECLARED: Final = "auto(%, declared%"
"""The journal's words for an adjusted limit that a process declares: that process declares it again."""


@dataclass(frozen=True, slots=True)
class Unrestored:
    """What the ledger knows of before."""

    since_ms: int
    """How long ago the loss was noticed; of several, the first."""
    executions: int
    """Executions that had not ended, and that Redis does not know."""
    changes: int
    """Limits, rates, pauses, schedules and settings of operators; Redis has those that are older than its data."""
    revived: int
    """Executions that have lived since, though they had ended before; their end was not restored."""
    living_again: int
    """Those of them that have not ended again."""
    is_begun: bool
    """Whether a rebuild has begun since, and is not known to have ended: it goes on, or died."""


def unrestored(connection: Connection) -> Unrestored | None:
    """Return what may be missing since Redis began anew; None: it did not, nothing is, or somebody has restored it.

    Args:
        connection: To the ledger's database.
    """
    followed = _followed_since_loss(connection)
    if not followed:
        return None
    last_rebuilt = select(func.max(changes.c.journal_id)).where(changes.c.verb == Verb.REBUILD)
    rebuilt = connection.execute(last_rebuilt).scalar_one() or 0
    begun = next((row for row in followed if row.journal_id > rebuilt), None)
    if begun is None:
        return None
    by_rebuild = exists().where(changes.c.changed_by == REBUILD, changes.c.journal_id >= begun.journal_id)
    lost = select(func.count()).where(executions.c.lost_ms >= begun.begun_ms, executions.c.ended_ms.is_(None))
    revived = executions.c.revived_in >= begun.journal_id
    found = Unrestored(
        # Two clocks: the beginning is by that of Redis.
        since_ms=max(0, begun.at_ms - begun.begun_ms),
        executions=connection.execute(lost).scalar_one(),
        changes=connection.execute(select(func.count()).where(*_in_force_before(followed[-1].journal_id))).scalar_one(),
        revived=connection.execute(select(func.count()).where(revived)).scalar_one(),
        living_again=connection.execute(select(func.count()).where(revived, *_LIVES)).scalar_one(),
        is_begun=connection.execute(select(by_rebuild)).scalar_one(),
    )
    return found if found.executions or found.changes or found.revived else None


def _followed_since_loss(connection: Connection) -> Sequence[Row[Any, Any, int]]:
    """The journals but the first that have begun within `TOLD_MS`, in order; each began with a loss."""
    of = journals.c
    first = select(func.min(of.journal_id)).scalar_subquery()
    wanted = select(of.journal_id, of.begun_ms, now_ms().label("at_ms"))
    wanted = wanted.where(of.journal_id > first, of.begun_ms > now_ms() - TOLD_MS)
    return connection.execute(wanted.order_by(of.journal_id)).all()


def _in_force_before(journal_id: int) -> tuple[ColumnElement[bool], ...]:
    """That a change was in force when the journal that is followed now began, and none was made since."""
    of, later = changes.c, changes.alias().c
    is_newer = tuple_(later.journal_id, later.entry_ms, later.entry_number) > tuple_(
        of.journal_id, of.entry_ms, of.entry_number
    )
    # What was taken back has no value, and is like nothing.
    is_value = of.verb.in_(_VALUES) & of.value_after.not_like(_DECLARED)
    return (
        of.journal_id < journal_id,
        or_(of.verb == Verb.PAUSE, is_value),
        ~exists().where(later.name == of.name, _kind(later) == _kind(of), is_newer),
    )


def _kind(of: Any) -> ColumnElement[str]:
    return case((of.verb.in_(_PAUSES), Verb.PAUSE.value), else_=of.verb)
