"""Who changed what.

In the flow: the ledger's copy of what the scripts wrote together with each change, and the rows of tokens. No route
changes it.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Query

from ...ledger.asked import read_asked
from ...ledger.queries.looking import written_until_ms
from ...ledger.queries.operators import Audited, EntryPlace, Kind, Sought, audited
from ...scheduler.engine.held_schedule import readable_schedule
from ...scheduler.engine.journal import Verb
from ...scheduler.model.rates import readable
from ..answers.controls import Audit, AuditEntry
from .cursors import cursor_of, read_cursor
from .moments import Moment, ms_of, shown_at
from .names import Text
from .requiring import AdminCaller, ServicesOf

PAGE: Final = 50
MOST_A_PAGE: Final = 200
MOST_VERBS: Final = 50
router: Final = APIRouter()


@router.get("/audit", summary="List who changed what")
def list_changes(
    services: ServicesOf,
    caller: AdminCaller,
    subject: Annotated[
        Text | None, Query(max_length=300, description="Only of this gate, lane, setting, execution, session or token.")
    ] = None,
    kind: Annotated[list[Kind] | None, Query(description="Only of these kinds.")] = None,
    verb: Annotated[
        list[Text] | None, Query(max_length=MOST_VERBS, description="Only these changes: `cancel`, `limit` and so on.")
    ] = None,
    who: Annotated[
        Text | None, Query(max_length=300, description="Only by this owner of tokens, or user and host.")
    ] = None,
    changed_from: Annotated[Moment | None, Query(alias="from", description="Made then or later.")] = None,
    changed_to: Annotated[Moment | None, Query(alias="to", description="Made before.")] = None,
    cursor: Annotated[str | None, Query(description="`next` of an earlier answer.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_A_PAGE)] = PAGE,
) -> Audit:
    """Limits, rates, weights, pauses, schedules and settings, fair lanes among them; executions that somebody
    submitted, cancelled, moved, retried or dropped; tokens that were made or revoked; who signed in and out. The latest
    first."""
    before = None if cursor is None else EntryPlace(*read_cursor(cursor, int, int, int, str))
    sought = Sought(
        kinds=tuple(kind or Kind),
        verbs=tuple(verb or ()),
        subject=subject,
        who=who,
        from_ms=ms_of(changed_from),
        to_ms=ms_of(changed_to),
    )
    with services.ledger.reading() as connection:
        as_of_ms = written_until_ms(connection)
        found = audited(connection, sought, limit + 1, before=before)
    page = found[:limit]
    last = page[-1].place if len(found) > limit else None
    return Audit(
        entries=[_entry(each) for each in page],
        next=None if last is None else cursor_of(*last),
        source="ledger",
        as_of=shown_at(as_of_ms),
    )


def _entry(change: Audited) -> AuditEntry:
    asked = read_asked(change.by)
    return AuditEntry(
        at=shown_at(change.at_ms),
        by=change.by,
        who=asked.who,
        token_id=asked.token_id,
        address=asked.address,
        verb=change.verb,
        subject=change.subject,
        kind=change.kind.value,
        before=_text(change.verb, change.before),
        after=_text(change.verb, change.after),
    )


def _text(verb: str, value: str | None) -> str | None:
    if not value or verb not in (Verb.RATE, Verb.SCHEDULE):
        return value
    return readable(value) if verb == Verb.RATE else readable_schedule(value)
