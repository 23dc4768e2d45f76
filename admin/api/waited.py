"""Tells what executions waited for, summed by action, by user and by gate.

In the flow: the sums that the ledger keeps by the hour. They are counts, so whoever may read sees those of every
action; of users its own, unless it operates. To whom a gate is not shown, it counts among the others.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Query

from ...ledger.queries.looking import written_until_ms
from ...ledger.waits.summary import Summed, wait_summary
from ...ledger.waits.summed_by import By
from ..answers.wait_sums import SumPart, WaitSum, WaitSums
from ..auth.scopes import Scope
from .loads import sees_gate
from .moments import Moment, ms_of, shown_at
from .requiring import ReadCaller, ServicesOf

_DAY_MS: Final = 86_400_000
router: Final = APIRouter()


@router.get("/waits", summary="Show what executions waited for, by action, user or gate")
def list_waits(
    services: ServicesOf,
    caller: ReadCaller,
    by: Annotated[By, Query(description="What is summed by; `gate`: what was waited behind.")] = By.ACTION,
    ended_from: Annotated[
        Moment | None,
        Query(alias="from", description="Waits that ended in this hour or later; if not said, within a day."),
    ] = None,
    ended_to: Annotated[Moment | None, Query(alias="to", description="Those that ended in hours before.")] = None,
) -> WaitSums:
    """Whole hours, by the end of each wait. What waits still is not in it."""
    is_own = by is By.USER and not caller.token.may(Scope.OPERATE)
    with services.ledger.reading() as connection:
        as_of_ms = written_until_ms(connection)
        to_ms = as_of_ms + 1 if ended_to is None else ms_of(ended_to) or 0
        from_ms = to_ms - _DAY_MS if ended_from is None else ms_of(ended_from) or 0
        found = wait_summary(
            connection,
            by,
            from_ms,
            to_ms,
            only=caller.token.owner if is_own else None,
            sees=lambda gate: sees_gate(caller, gate),
        )
    counts = found.counts
    return WaitSums(
        by=by,
        since=shown_at(found.since_ms),
        until=shown_at(found.until_ms),
        waits=counts.waits,
        summed=counts.summed,
        sampled=counts.sampled,
        incomplete=counts.incomplete,
        sums=[_sum(each) for each in found.sums],
        source="ledger",
        as_of=shown_at(as_of_ms),
    )


def _sum(summed: Summed) -> WaitSum:
    return WaitSum(
        name=summed.name,
        ms=summed.ms,
        waits=summed.waits,
        summed=summed.summed,
        parts=[SumPart(cause=each.cause, behind=each.behind, ms=each.ms, waits=each.waits) for each in summed.parts],
    )
