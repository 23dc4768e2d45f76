"""Changes executions: submits, cancels, moves and retries them.

In the flow: the same transitions as those of the command line, under the caller's name. A caller without the scope
operate changes its own only, and asks for no more urgent priority than its token allows. If the process dies within a
request, either the transition was made or it was not; a retry may leave both the letter and its new execution.
"""

from typing import Annotated, Final

from fastapi import Body, Header, Response

from ...k8s.runnable import check_runnable
from ...middleware.operations.cancelling import cancel as cancel_execution
from ...middleware.operations.dead_letters import accept_again
from ...scheduler.engine.grants import Code
from ...scheduler.engine.record import Record
from ...scheduler.events import ExecutionRequestedEvent
from ...scheduler.events.fields import ExecutionId
from ...scheduler.model.errors import DuplicateExecution, UnknownExecution, shown
from ...scheduler.model.identifiers import new_execution_id
from ...scheduler.model.priority import Priority
from ...scheduler.model.states import TERMINAL, State
from ...scheduler.queue import candidate_of
from ..answers.executions import Accepted, Cancelled, Moved, Retried
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..errors import Refused, forbidden
from ..services import Services
from .finding import find
from .idempotency import Claim, Claims, IdempotencyKey
from .queue_routes import QueueRouter
from .requests import Cancellation, NewPriority, Submission
from .requiring import ReadCaller, ServicesOf, SubmitCaller

_ROUTE: Final = "submit"


router: Final = QueueRouter()


@router.post(
    "/",
    status_code=201,
    summary="Submit an execution",
    responses={200: {"model": Accepted, "description": "It had been accepted, under the same Idempotency-Key."}},
)
def submit(
    services: ServicesOf,
    caller: SubmitCaller,
    submission: Submission,
    response: Response,
    idempotency_key: Annotated[
        IdempotencyKey | None, Header(description="The same request sent again is carried out once; kept for a day.")
    ] = None,
) -> Accepted:
    """A script or a command. 201: it was accepted; 200: it had been, under the same Idempotency-Key."""
    event = _event(caller, submission)
    if idempotency_key is None:
        try:
            return _park(services, event)
        except DuplicateExecution:
            raise _taken(event) from None
    claims = Claims(services.queue.scripts)
    claim = claims.claim(
        idempotency_key,
        token_id=caller.token.token_id,
        route=_ROUTE,
        body=submission.model_dump_json().encode(),
        execution_id=event.execution_id,
    )
    is_chosen = submission.execution_id is not None
    accepted, is_first = _park_once(services, claims, claim, event, is_chosen=is_chosen)
    response.status_code = 201 if is_first else 200
    return accepted


@router.put("/{execution_id}/priority", summary="Move an execution to another priority")
def move(services: ServicesOf, caller: ReadCaller, execution_id: ExecutionId, new: NewPriority) -> Moved:
    """One that waits; it keeps the time at which it was accepted, and so its place among those of the new one."""
    band = new.priority
    record = _changeable(services, caller, execution_id)
    if not caller.token.may(Scope.OPERATE):
        _check_band(caller, band)
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
    again = accept_again(services.queue, services.broker, record.execution_id)
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


def _check_dead(services: Services, record: Record) -> None:
    if not services.queue.views.is_dead(record.execution_id):
        raise Refused(409, "not_dead", f"it is no dead letter: it is {record.state}")


def _check_band(caller: Caller, band: Priority) -> None:
    if band < caller.token.max_band:
        raise forbidden(f"this token may ask for {caller.token.max_band.name} at most, not {band.name}")


def _event(caller: Caller, submission: Submission) -> ExecutionRequestedEvent:
    user_id = submission.user_id or caller.token.owner
    if user_id != caller.token.owner and not caller.token.may(Scope.ADMIN):
        raise forbidden("only the scope admin may submit as another user")
    event = ExecutionRequestedEvent.from_any({"execution_id": new_execution_id(), **submission.fields(user_id)})
    if not caller.token.may(Scope.ADMIN):
        _check_band(caller, event.priority)
        if foreign := caller.token.foreign_gates(event.gates):
            raise forbidden(f"this token may not name the gate {foreign[0]}")
    check_runnable(event)
    return event


def _park_once(
    services: Services, claims: Claims, claim: Claim, event: ExecutionRequestedEvent, *, is_chosen: bool
) -> tuple[Accepted, bool]:
    """Accept an execution under its claim; also whether this request did.

    A refused request keeps its claim: sent again, it is tried again under the same id.
    """
    named = event.model_copy(update={"execution_id": claim.execution_id})
    try:
        return _park(services, named), True
    except DuplicateExecution as error:
        if is_chosen and claim.is_new:
            # The id that the caller chose is another sending's, even if it is the caller's own.
            claims.give_back(claim)
            raise _taken(named) from None
        # The same request, sent twice at once or again.
        state = error.state or State.PENDING
        return Accepted(execution_id=claim.execution_id, state=state, position=_position(services, named)), False


def _park(services: Services, event: ExecutionRequestedEvent) -> Accepted:
    parked = services.queue.transitions.park(candidate_of(event, services.queue.lane))
    waits = parked.state is State.PENDING
    return Accepted(execution_id=parked.execution_id, state=parked.state, position=parked.position if waits else None)


def _taken(event: ExecutionRequestedEvent) -> Refused:
    # Whose it is, and in which state, is not told.
    return Refused(409, "duplicate", f"the id {shown(event.execution_id)} is taken: send it under another one")


def _position(services: Services, event: ExecutionRequestedEvent) -> int | None:
    try:
        return services.queue.explain(event.execution_id).position
    except UnknownExecution:
        return None
