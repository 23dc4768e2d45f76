"""Lists executions as Redis has them now: what runs, waits in the order of its turn, or is scheduled; dead letters.

In the flow: what operators need most when things fail, and so it needs no ledger. Redis has no index by user or action:
of a long queue its head is searched, and the answer says whether that was all of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Final, Literal

from fastapi import Depends, Query

from ...scheduler.engine.record import Record
from ...scheduler.events.fields import Action, UserId
from ...scheduler.model.states import State
from ...scheduler.selecting import ANY, Wanted, selected
from ..answers.executions import DeadLetters, LivingExecutions
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..errors import forbidden
from ..services import Services
from .moments import now_at, shown_at
from .names import BandInQuery, Lane, Text
from .queue_routes import QueueRouter
from .requiring import ReadCaller, ServicesOf
from .shapes import execution_answer

PAGE: Final = 50
MOST_A_PAGE: Final = 200
SEARCHED: Final = 10_000
"""How many of a group are looked at."""
Limit = Annotated[int, Query(ge=1, le=MOST_A_PAGE, description="At most so many.")]
Statuses = Annotated[list[State] | None, Query(description="In one of these states.")]
Priorities = Annotated[list[BandInQuery] | None, Query(description="Of one of these priorities.")]
Gate = Annotated[Text | None, Query(max_length=300, description="Whose sender named this gate.")]
router: Final = QueueRouter()


@dataclass(frozen=True, slots=True)
class Filters:
    """What every list of executions is filtered by."""

    status: Statuses = None
    priority: Priorities = None
    user: Annotated[UserId | None, Query(description="Of this user.")] = None
    action: Action | None = None
    lane: Lane | None = None

    def user_listed(self, caller: Caller) -> str | None:
        """Return whose executions are listed; without `operate`, only the caller's.

        Raises:
            Refused: If another user's are asked for.
        """
        if caller.token.may(Scope.OPERATE):
            return self.user
        if self.user not in (None, caller.token.owner):
            raise forbidden("without the scope operate, only one's own executions are listed")
        return caller.token.owner


@router.get("/living", summary="List what runs, waits or is scheduled")
def list_living(
    services: ServicesOf,
    caller: ReadCaller,
    filters: Annotated[Filters, Depends()],
    group: Annotated[
        Literal["running", "waiting", "scheduled"],
        Query(description="`waiting` is in the order in which they are to start, `running` by when they did."),
    ] = "waiting",
    gate: Gate = None,
    limit: Limit = PAGE,
) -> LivingExecutions:
    """From Redis, whether there is a ledger or not; among the first ten thousand of the group."""
    found, complete = _first(services, group, _wanted(caller, filters, gate), limit)
    return LivingExecutions(
        executions=[execution_answer(each, position=each.position) for each in found],
        complete=complete,
        source="redis",
        as_of=now_at(services.queue),
    )


@router.get("/dead", summary="List dead letters")
def list_dead(
    services: ServicesOf,
    caller: ReadCaller,
    filters: Annotated[Filters, Depends()],
    gate: Gate = None,
    limit: Limit = PAGE,
) -> DeadLetters:
    """Executions that used up their tries, the latest first; among the latest ten thousand."""
    views = services.queue.views
    found, complete = _first(services, "dead", _wanted(caller, filters, gate), limit)
    return DeadLetters(
        executions=[execution_answer(each, dead=True) for each in found],
        complete=complete,
        dead_count=views.status().dead_count,
        source="redis",
        as_of=shown_at(views.server_time_ms()),
    )


def _wanted(caller: Caller, filters: Filters, gate: str | None) -> Wanted:
    states, priorities = frozenset(filters.status or ()) or None, frozenset(filters.priority or ()) or None
    return Wanted(states, filters.user_listed(caller), filters.action, priorities, filters.lane, gate)


def _first(services: Services, group: str, wanted: Wanted, limit: int) -> tuple[list[Record], bool]:
    """The first of a group that pass the filters, and whether these are all there are."""
    looked_at = _Counted(islice(selected(services.queue, group, ANY), SEARCHED))
    found = list(islice(filter(wanted.fits, looked_at), limit + 1))
    return found[:limit], len(found) <= limit and looked_at.count < SEARCHED


class _Counted:
    """Records, and how many of them were looked at."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = iter(records)
        self.count = 0

    def __iter__(self) -> "_Counted":
        return self

    def __next__(self) -> Record:
        record = next(self._records)
        self.count += 1
        return record
