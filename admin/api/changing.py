"""Changes executions: cancels, moves and retries them, and drops dead letters.

In the flow: the same transitions as those of the command line, under the caller's name. A caller without the scope
operate changes its own only; none but an admin moves to a more urgent priority than its token allows. If the process
dies within a request, either the transition was made or it was not; a retry may leave both the letter and its new
execution.
"""

from typing import Annotated, Final

from fastapi import Body, Response

from ...middleware.operations.cancelling import cancel as cancel_execution
from ...middleware.operations.dead_letters import accept_again
from ...scheduler.engine.grants import Code
from ...scheduler.engine.record import Record
from ...scheduler.events.fields import ExecutionId
from ...scheduler.model.errors import UnknownExecution
from ...scheduler.model.priority import Priority
from ...scheduler.model.states import TERMINAL
from ..answers.executions import Cancelled, Moved, Retried
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..errors import Refused, forbidden
from ..services import Services
from .finding import find
from .queue_routes import QueueRouter
from .requests import Cancellation, NewPriority
from .requiring import ReadCaller, ServicesOf
from .strict_bodies import StrictRoute
from .submitting import check_band, check_gates

router: Final = QueueRouter(route_class=StrictRoute)


@router.put("/{execution_id}/priority", summary="Move an execution to another priority")
def move(services: ServicesOf, caller: ReadCaller, execution_id: ExecutionId, new: NewPriority) -> Moved:
    """One that waits; it keeps the time at which it was accepted, and so its place among those of the new one."""
    band = new.priority
    record = _changeable(services, caller, execution_id)
    if not caller.token.may(Scope.ADMIN):
        check_band(caller, band)
    code, state = services.queue.transitions.reprioritise(record.execution_id, band, by=caller.by)
    if code is Code.UNKNOWN or state is None:
        raise UnknownExecution(execution_id=execution_id)
    if code is not Code.OK:
        raise Refused(409, "not_pending", f"it does not wait any more: it is {state}")
    return Moved(
        execution_id=execution_id,
        priority=band.name,
        state=state,
        position=services.queue.explain(execution_id).position,
    )


@router.post(
    "/{execution_id}/cancel",
    status_code=200,
    summary="Cancel an execution",
    responses={202: {"model": Cancelled, "description": "It was asked to end."}},
)
def cancel(
    services: ServicesOf,
    caller: ReadCaller,
    execution_id: ExecutionId,
    response: Response,
    why: Annotated[Cancellation | None, Body()] = None,
) -> Cancelled:
    """200: it has ended. 202: it was asked to end, and keeps its slot until its pod or thread is gone."""
    record = _changeable(services, caller, execution_id)
    reason = (why or Cancellation()).reason
    done = cancel_execution(services.queue, services.broker, record.execution_id, reason=reason, by=caller.by)
    if done.code is Code.UNKNOWN or done.state is None:
        # What only the ledger knows has ended.
        if record.state in TERMINAL:
            raise Refused(409, "ended", f"it has ended already: it is {record.state}")
        raise UnknownExecution(execution_id=execution_id)
    if done.code is Code.ENDED:
        raise Refused(409, "ended", f"it has ended already: it is {done.state}")
    response.status_code = 200 if done.state in TERMINAL else 202
    return Cancelled(execution_id=execution_id, state=done.state)


@router.post("/{execution_id}/retry", status_code=201, summary="Run a dead letter again")
def retry(services: ServicesOf, caller: ReadCaller, execution_id: ExecutionId) -> Retried:
    """The same work under a new id; the letter is dropped."""
    record = _changeable(services, caller, execution_id)
    _check_dead(services, record)
    check_again(caller, record)
    again = accept_again(services.queue, services.broker, record.execution_id, by=caller.by)
    services.queue.drop(record.execution_id, by=caller.by)
    return Retried(execution_id=execution_id, new_execution_id=again.execution_id, position=again.position)


@router.delete("/{execution_id}/dead", status_code=204, summary="Drop a dead letter")
def drop(services: ServicesOf, caller: ReadCaller, execution_id: ExecutionId) -> None:
    """What it would run is forgotten; its history stays."""
    record = _changeable(services, caller, execution_id)
    _check_dead(services, record)
    services.queue.drop(record.execution_id, by=caller.by)


def _changeable(services: Services, caller: Caller, execution_id: str) -> Record:
    """The execution, if the caller may change it."""
    record = find(services, caller, execution_id).record
    if not (caller.token.may(Scope.SUBMIT) or caller.token.may(Scope.OPERATE)):
        raise forbidden("this needs the scope submit for one's own executions, or operate for all")
    return record


def check_again(caller: Caller, record: Record) -> None:
    """Refuse what this caller might not submit anew: its token's bounds hold for what runs again, too.

    Raises:
        Refused: If it is too urgent, or names gates that it may not name.
    """
    if not caller.token.may(Scope.OPERATE):
        if record.priority:
            check_band(caller, Priority[record.priority])
        check_gates(caller, record.gates, action=record.action)


def _check_dead(services: Services, record: Record) -> None:
    if not services.queue.views.is_dead(record.execution_id):
        raise Refused(409, "not_dead", f"it is no dead letter: it is {record.state}")
