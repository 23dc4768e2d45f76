"""Changes many executions at once: a dry run first, which counts them and gives a ticket; then the ticket.

In the flow: the dry run keeps the ids in Redis for some minutes, so that what is changed is what was counted, and never
what came meanwhile. A ticket is taken once, by the token that got it. Each execution is checked again when its turn
comes: one that is no longer what was asked for is skipped. If Redis goes away on the way, the rest is told as failed;
if the process dies, some were changed, and another dry run finds the rest. Either takes seconds, and a turn of those
that ask Redis for as long; so a token has one at a time, and all of them together have some of the turns only.
"""

import hashlib
import json
import secrets
from collections.abc import Callable
from typing import Any, Final

from ...middleware.operations.cancelling import cancel
from ...middleware.operations.dead_letters import accept_again
from ...scheduler.engine.grants import Code
from ...scheduler.engine.record import Record, read_records
from ...scheduler.model.errors import InvalidRequest, NotRunnable, QueueRejected, QueueUnavailable
from ...scheduler.model.states import State
from ...scheduler.selecting import ANY, STATES_OF, Wanted, selected
from ..answers.executions import BulkDone, BulkFailure, BulkPlan
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..errors import Refused, forbidden, not_found
from ..services import Services
from .changing import check_again
from .queue_routes import QueueRouter, in_turn
from .requests import BulkAction, BulkSent, Ticket
from .requiring import ReadCaller, ServicesOf
from .strict_bodies import StrictRoute

router: Final = QueueRouter(route_class=StrictRoute)
MOST: Final = 10_000
"""How many executions one ticket is for."""
SEARCHED: Final = 50_000
"""How many of a group are looked at."""
SHOWN: Final = 20
KEPT_SECONDS: Final = 600
_GROUPS: Final = {
    # What waits before what runs: it would start in the slots that become free.
    BulkAction.CANCEL: ("waiting", "scheduled", "running"),
    BulkAction.MOVE: ("waiting", "scheduled"),
    BulkAction.RETRY: ("dead",),
    BulkAction.DROP: ("dead",),
}


@router.post("/bulk/plan", status_code=201, summary="Count what a change of many would change")
async def plan_bulk(services: ServicesOf, caller: ReadCaller, bulk: BulkSent) -> BulkPlan:
    """Changes nothing. The ticket is for those that were counted, at most 10,000 of the first 50,000 that wait, are
    scheduled, run or are dead; `POST bulk` with it changes them. One at a time with a token.
    """
    with services.bulks.place(caller.token.token_id):
        return await in_turn(services, _plan, services, caller, bulk)


@router.post("/bulk", summary="Change many executions")
async def change_bulk(services: ServicesOf, caller: ReadCaller, given: Ticket) -> BulkDone:
    """Those that a dry run counted. One that has ended meanwhile, or no longer passes the filters, is skipped. One at a
    time with a token.
    """
    with services.bulks.place(caller.token.token_id):
        return await in_turn(services, _change, services, caller, given)


def _plan(services: Services, caller: Caller, bulk: BulkSent) -> BulkPlan:
    _check(caller, bulk)
    found, more = _meant(services, caller, bulk)
    ticket = secrets.token_urlsafe(24)
    kept = bulk.model_dump(mode="json") | {"ids": found}
    client: Any = services.queue.scripts.client
    name = _key(services, caller, ticket)
    services.queue.scripts.repeat(lambda: client.set(name, json.dumps(kept), ex=KEPT_SECONDS))
    return BulkPlan(
        ticket=ticket,
        count=len(found),
        more=more,
        execution_ids=found[:SHOWN],
        expires_seconds=KEPT_SECONDS,
    )


def _change(services: Services, caller: Caller, given: Ticket) -> BulkDone:
    client: Any = services.queue.scripts.client
    name = _key(services, caller, given.ticket)
    # If the answer is lost, so is the ticket, and nothing was changed.
    raw = services.queue.scripts.repeat(lambda: client.getdel(name))
    if raw is None:
        raise not_found("there is no such ticket: it was used, it is too old, or another token has it")
    kept = json.loads(raw)
    ids = kept.pop("ids")
    bulk = BulkSent.model_validate(kept)
    _check(caller, bulk)
    wanted, act = _wanted(bulk), _act_of(services, caller, bulk)
    changed = skipped = 0
    failed: list[BulkFailure] = []
    for number, execution_id in enumerate(ids):
        try:
            record = read_records(services.queue.views, [execution_id]).get(execution_id)
            # What its token allows may be less than when it was counted.
            if record is not None and caller.sees(record.user_id) and wanted.fits(record) and act(record):
                changed += 1
            else:
                skipped += 1
        except QueueUnavailable as error:
            # Each of the others would wait as long in vain.
            failed += [BulkFailure(execution_id=each, detail=str(error)) for each in ids[number:]]
            break
        except (NotRunnable, QueueRejected, Refused) as error:
            failed.append(BulkFailure(execution_id=execution_id, detail=str(error)))
    return BulkDone(changed=changed, skipped=skipped, failed=failed)


def _key(services: Services, caller: Caller, ticket: str) -> str:
    digest = hashlib.sha256("\n".join(("bulk", caller.token.token_id, ticket)).encode()).hexdigest()
    return services.queue.scripts.keys.request(digest)


def _check(caller: Caller, bulk: BulkSent) -> None:
    if not (caller.token.may(Scope.SUBMIT) or caller.token.may(Scope.OPERATE)):
        raise forbidden("this needs the scope submit for one's own executions, or operate for all")
    if (bulk.action is BulkAction.MOVE) != (bulk.priority is not None):
        raise InvalidRequest("priority", "it belongs to the action move, which needs it")
    if bulk.priority is not None:
        band = bulk.priority
        if band < caller.token.max_band and not caller.token.may(Scope.ADMIN):
            raise forbidden(f"this token may ask for {caller.token.max_band.name} at most, not {band.name}")
    if bulk.user is not None and not caller.sees(bulk.user):
        raise forbidden("without the scope operate, only one's own executions are changed")


def _wanted(bulk: BulkSent) -> Wanted:
    return Wanted(
        states=frozenset(map(State, bulk.status)) or None,
        user_id=bulk.user,
        action=bulk.of_action,
        priorities=frozenset(bulk.of_priority) or None,
        lane=bulk.of_lane,
        gate=bulk.of_gate,
    )


def _meant(services: Services, caller: Caller, bulk: BulkSent) -> tuple[list[str], bool]:
    """Those that are meant, and whether there may be more."""
    wanted = _wanted(bulk)
    # One that begins meanwhile is in two groups.
    found: dict[str, None] = {}
    more = False
    for group in _GROUPS[bulk.action]:
        if wanted.states is not None and not wanted.states & STATES_OF[group]:
            continue
        for looked_at, record in enumerate(selected(services.queue, group, ANY)):
            if looked_at == SEARCHED or len(found) == MOST:
                more = True
                break
            if wanted.fits(record) and caller.sees(record.user_id):
                found[record.execution_id] = None
    return list(found), more


def _act_of(services: Services, caller: Caller, bulk: BulkSent) -> Callable[[Record], bool]:
    """What is done to each; whether it was changed."""
    queue, broker, by = services.queue, services.broker, caller.by

    among = frozenset(map(State, bulk.status)) or None

    def end(record: Record) -> bool:
        if record.cancel_requested:
            return False
        # The state once more, in the transition itself: it may be granted between the look at it and this.
        done = cancel(queue, broker, record.execution_id, reason=bulk.reason, among=among, by=by)
        return done.code is Code.OK

    def move(record: Record) -> bool:
        assert bulk.priority is not None
        return queue.transitions.reprioritise(record.execution_id, bulk.priority, by=by)[0] is Code.OK

    def retry(record: Record) -> bool:
        if not queue.views.is_dead(record.execution_id):
            return False
        check_again(caller, record)
        accept_again(queue, broker, record.execution_id, by=by)
        return queue.drop(record.execution_id, by=by)

    def drop(record: Record) -> bool:
        return queue.drop(record.execution_id, by=by)

    return {BulkAction.CANCEL: end, BulkAction.MOVE: move, BulkAction.RETRY: retry, BulkAction.DROP: drop}[bulk.action]
