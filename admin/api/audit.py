"""Who changed what.

In the flow: the ledger's copy of what the scripts wrote together with each change. No route changes it.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Query

from ...ledger.queries.looking import written_until_ms
from ...ledger.queries.operators import EntryPlace, audited
from ..answers.controls import Audit, AuditEntry
from .cursors import cursor_of, read_cursor
from .moments import Moment, ms_of, shown_at
from .names import Text
from .requiring import AdminCaller, ServicesOf

PAGE: Final = 50
MOST_A_PAGE: Final = 200
router: Final = APIRouter()


@router.get("/audit", summary="List who changed what")
def list_changes(
    services: ServicesOf,
    caller: AdminCaller,
    subject: Annotated[
        Text | None, Query(max_length=300, description="Only of this gate, lane, setting or execution.")
    ] = None,
    changed_from: Annotated[Moment | None, Query(alias="from", description="Made then or later.")] = None,
    changed_to: Annotated[Moment | None, Query(alias="to", description="Made before.")] = None,
    cursor: Annotated[str | None, Query(description="`next` of an earlier answer.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_A_PAGE)] = PAGE,
) -> Audit:
    """Limits, pauses and settings, and executions that somebody cancelled, moved, retried or dropped; latest first."""
    before = None if cursor is None else EntryPlace(*read_cursor(cursor, int, int, int))
    with services.ledger.reading() as connection:
        as_of_ms = written_until_ms(connection)
        found = audited(
            connection,
            limit + 1,
            before=before,
            subject=subject,
            from_ms=ms_of(changed_from),
            to_ms=ms_of(changed_to),
        )
    page = found[:limit]
    last = page[-1].place if len(found) > limit else None
    return Audit(
        entries=[
            AuditEntry(
                at=shown_at(each.at_ms),
                by=each.by,
                verb=each.verb,
                subject=each.subject,
                kind="execution" if each.is_execution else "control",
                before=each.before,
                after=each.after,
            )
            for each in page
        ],
        next=None if last is None else cursor_of(last.journal_id, last.entry_ms, last.entry_number),
        source="ledger",
        as_of=shown_at(as_of_ms),
    )
