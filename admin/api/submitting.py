"""Submits executions: a script or a command as JSON, or a script as a file.

In the flow: both ways make the same submission, so a request under an ``Idempotency-Key`` may be sent again either way.
A caller submits as the owner of its token, and asks for no more urgent priority and no other gates than that allows. If
the process dies within a request, the execution was accepted or it was not; sent again under its key, it is one.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import Form, Header, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from ...k8s.runnable import check_runnable
from ...scheduler.events import ExecutionRequestedEvent
from ...scheduler.events.fields import DEFAULT_ACTION
from ...scheduler.model.errors import DuplicateExecution, InvalidRequest, UnknownExecution, shown
from ...scheduler.model.identifiers import new_execution_id
from ...scheduler.model.priority import Priority
from ...scheduler.model.states import State
from ...scheduler.model.trace_context import TraceContext, read_trace
from ...scheduler.queue import candidate_of
from ...scheduler.spans import traced
from ..answers.executions import Accepted
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..errors import Refused, forbidden
from ..services import Services
from .idempotency import Claim, Claims, IdempotencyKey
from .queue_routes import QueueRouter
from .requests import Submission, Upload
from .requiring import ServicesOf, SubmitCaller
from .strict_bodies import StrictRoute, read_json

_ROUTE: Final = "submit"
_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": Accepted, "description": "It had been accepted, under the same Idempotency-Key."}
}
Key = Annotated[
    IdempotencyKey | None,
    Header(description="The same request sent again is carried out once; kept for a day."),
]
Traceparent = Annotated[
    str | None,
    Header(description="The span that the execution is a part of (W3C Trace Context); what is not valid is left out."),
]
Tracestate = Annotated[str | None, Header(description="What tracing systems add to it; likewise.")]
router: Final = QueueRouter(route_class=StrictRoute)


@router.post("/", status_code=201, summary="Submit an execution", responses=_ANSWERS)
def submit(
    services: ServicesOf,
    caller: SubmitCaller,
    submission: Submission,
    response: Response,
    idempotency_key: Key = None,
    traceparent: Traceparent = None,
    tracestate: Tracestate = None,
) -> Accepted:
    """A script or a command. 201: it was accepted; 200: it had been, under the same Idempotency-Key."""
    span = read_trace(traceparent, tracestate)
    return _submitted(services, caller, submission, response, idempotency_key, span)


@router.post("/upload", status_code=201, summary="Submit a script as a file", responses=_ANSWERS)
def upload(
    services: ServicesOf,
    caller: SubmitCaller,
    sent: Annotated[Upload, Form()],
    response: Response,
    idempotency_key: Key = None,
    traceparent: Traceparent = None,
    tracestate: Tracestate = None,
) -> Accepted:
    """As `multipart/form-data`; otherwise the same as a submission as JSON."""
    span = read_trace(traceparent, tracestate)
    return _submitted(services, caller, _read(sent), response, idempotency_key, span)


def _read(sent: Upload) -> Submission:
    try:
        text = sent.script.file.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest("script", f"its byte {error.start} is no UTF-8", allowed="a text in UTF-8") from None
    try:
        others = read_json(sent.submission)
    except ValueError:
        others = None
    if not isinstance(others, dict) or not others.keys().isdisjoint(("script", "command")):
        raise InvalidRequest("submission", "it is none", allowed="a JSON object without script and command")
    named = {"file_name": sent.script.filename} if sent.script.filename else {}
    try:
        return Submission.model_validate({**named, **others, "script": text})
    except ValidationError as error:
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in error.errors()]) from None


def _submitted(
    services: Services,
    caller: Caller,
    submission: Submission,
    response: Response,
    idempotency_key: str | None,
    span: TraceContext | None,
) -> Accepted:
    event = traced(_event(caller, submission), span)
    if idempotency_key is None:
        try:
            return _park(services, event, caller.by)
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
    accepted, is_first = _park_once(services, claims, claim, event, is_chosen=is_chosen, by=caller.by)
    response.status_code = 201 if is_first else 200
    return accepted


def check_band(caller: Caller, band: Priority) -> None:
    """Refuse a priority that is more urgent than the caller's token allows.

    Raises:
        Refused: If it is.
    """
    if band < caller.token.max_band:
        raise forbidden(f"this token may ask for {caller.token.max_band.name} at most, not {band.name}")


def check_gates(caller: Caller, gates: Sequence[str], *, action: str) -> None:
    """Refuse an action, or gates beside it, that this caller's executions may not have.

    Raises:
        Refused: If there is one.
    """
    # An action is a gate, too: who may name no gate action:NAME would take its slots by the name alone.
    if action != DEFAULT_ACTION and caller.token.foreign_gates([f"action:{action}"], action=action):
        raise forbidden(f"this token may not send the action {action}: none of its gates is action:{action}")
    if foreign := caller.token.foreign_gates(gates, action=action):
        raise forbidden(f"this token may not name the gate {foreign[0]}")


def _event(caller: Caller, submission: Submission) -> ExecutionRequestedEvent:
    user_id = submission.user_id or caller.token.owner
    if user_id != caller.token.owner and not caller.token.may(Scope.ADMIN):
        raise forbidden("only the scope admin may submit as another user")
    event = ExecutionRequestedEvent.from_any({"execution_id": new_execution_id(), **submission.fields(user_id)})
    if not caller.token.may(Scope.ADMIN):
        check_band(caller, event.priority)
        check_gates(caller, event.gates, action=event.action)
    check_runnable(event)
    return event


def _park_once(
    services: Services, claims: Claims, claim: Claim, event: ExecutionRequestedEvent, *, is_chosen: bool, by: str
) -> tuple[Accepted, bool]:
    """Accept an execution under its claim; also whether this request did.

    A refused request keeps its claim: sent again, it is tried again under the same id.
    """
    named = event.model_copy(update={"execution_id": claim.execution_id})
    try:
        return _park(services, named, by), True
    except DuplicateExecution as error:
        if is_chosen and (claim.is_new or _is_anothers(services, named)):
            # The id that the caller chose is another sending's, even if it is the caller's own. One that found this out
            # may have died before it gave the key back.
            claims.give_back(claim)
            raise _taken(named) from None
        # The same request, sent twice at once or again.
        state = error.state or State.PENDING
        return Accepted(execution_id=claim.execution_id, state=state, position=_position(services, named)), False


def _park(services: Services, event: ExecutionRequestedEvent, by: str) -> Accepted:
    parked = services.queue.transitions.park(candidate_of(event, services.queue.lane), by=by)
    waits = parked.state is State.PENDING
    return Accepted(execution_id=parked.execution_id, state=parked.state, position=parked.position if waits else None)


def _is_anothers(services: Services, event: ExecutionRequestedEvent) -> bool:
    meta = services.queue.views.meta(event.execution_id)
    # Of one that ended long ago Redis does not know whose it was.
    return "accepted_at" in meta and meta.get("user") != event.metadata.user_id


def _taken(event: ExecutionRequestedEvent) -> Refused:
    # Whose it is, and in which state, is not told.
    return Refused(409, "duplicate", f"the id {shown(event.execution_id)} is taken: send it under another one")


def _position(services: Services, event: ExecutionRequestedEvent) -> int | None:
    try:
        return services.queue.explain(event.execution_id).position
    except UnknownExecution:
        return None
