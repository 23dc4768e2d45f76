"""Lists executions as Redis has them now: what runs, waits in the order of its turn, or is scheduled; dead letters.

In the flow: what operators need most when things fail, and so it needs no ledger. Redis has no index by user or action:
of a long queue its head is searched, and the answer says whether that was all of it.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Final, Literal

from fastapi import Query

from ...scheduler.engine.record import Record
from ...scheduler.events.fields import Action, UserId
from ...scheduler.selecting import ANY, Wanted, selected
from ..answers.executions import DeadLetters, LivingExecutions
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..errors import forbidden
from .moments import shown_at
from .queue_routes import QueueRouter
from .requiring import ReadCaller, ServicesOf
from .shapes import execution_answer

PAGE: Final = 50
MOST_A_PAGE: Final = 200
SEARCHED: Final = 10_000
"""How many of a group are looked at."""
Limit = Annotated[int, Query(ge=1, le=MOST_A_PAGE, description="At most so many.")]
router: Final = QueueRouter()


@router.get("/living", summary="List what runs, waits or is scheduled")
def list_living(
    services: ServicesOf,
    caller: ReadCaller,
    group: Annotated[
        Literal["running", "waiting", "scheduled"],
        Query(description="`waiting` is in the order in which they are to start, `running` by when they did."),
    ] = "waiting",
    user: Annotated[UserId | None, Query(description="Of this user.")] = None,
    action: Action | None = None,
    limit: Limit = PAGE,
) -> LivingExecutions:
    """From Redis, whether there is a ledger or not; among the first ten thousand of the group."""
    every = selected(services.queue, group, ANY)
    wanted = Wanted(states=None, user_id=user_listed(caller, user), action=action)
    looked_at = _Counted(islice(every, SEARCHED))
    found = list(islice(filter(wanted.fits, looked_at), limit + 1))
    return LivingExecutions(
        executions=[execution_answer(each, position=each.position) for each in found[:limit]],
        complete=len(found) <= limit and looked_at.count < SEARCHED,
        source="redis",
        as_of=shown_at(services.queue.views.server_time_ms()),
    )


@router.get("/dead", summary="List dead letters")
def list_dead(services: ServicesOf, caller: ReadCaller, limit: Limit = PAGE) -> DeadLetters:
    """Executions that used up their tries, the latest first; of all of them, the caller's."""
    views = services.queue.views
    letters = selected(services.queue, "dead", Wanted(states=None, user_id=user_listed(caller, None), action=None))
    return DeadLetters(
        executions=[execution_answer(each, dead=True) for each in islice(letters, limit)],
        dead_count=views.status().dead_count,
        source="redis",
        as_of=shown_at(views.server_time_ms()),
    )


def user_listed(caller: Caller, asked: str | None) -> str | None:
    """Return whose executions are listed; without `operate`, only the caller's.

    Raises:
        Refused: If another user's are asked for.
    """
    if caller.token.may(Scope.OPERATE):
        return asked
    if asked not in (None, caller.token.owner):
        raise forbidden("without the scope operate, only one's own executions are listed")
    return caller.token.owner


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
