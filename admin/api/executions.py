"""Reads executions: lists, one with its timeline and what it runs; and the queue's status.

In the flow: the same routes stand under ``/api/v1/admin/executions``, for admins, and under ``/api/v1/executions``, for
everybody else; there, a caller without the scope `operate` sees only its own.
"""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Response

from ...ledger.queries.filters import Wanted
from ...ledger.queries.listing import Place, count_executions, executions_page
from ...ledger.queries.looking import event_of, steps_of, written_until_ms
from ...ledger.standing import is_written
from ...scheduler.engine.record import Record, read_result
from ...scheduler.events import ExecutionRequestedEvent
from ...scheduler.events.fields import ExecutionId
from ...scheduler.judging import judged_lanes
from ...scheduler.lanes import all_lanes
from ...scheduler.model.identifiers import SLOT_LANES, check_execution_id
from ..answers.executions import (
    ExecutionPage,
    OneExecution,
    PayloadAnswer,
    QueueAnswer,
    Step,
    Timeline,
)
from ..auth.scopes import Scope
from ..errors import not_found
from ..services import Services
from .cursors import cursor_of, read_cursor
from .finding import check_reads, find, is_of_ledger
from .judged import verdict_answers
from .living import PAGE, Filters, Limit
from .moments import Moment, ms_of, now_at, shown_at
from .names import Lane, Text
from .queue_routes import QueueRouter
from .requiring import ReadCaller, ServicesOf
from .shapes import execution_answer, row_answer

STEPS: Final = 1_000
_EARLIER: Final = "before"
_LATER: Final = "after"

router: Final = QueueRouter()
history: Final = APIRouter()
"""What needs no Redis."""


@history.get("/", summary="List executions")
def list_executions(
    services: ServicesOf,
    caller: ReadCaller,
    filters: Annotated[Filters, Depends()],
    accepted_from: Annotated[Moment | None, Query(alias="from", description="Accepted then or later.")] = None,
    accepted_to: Annotated[Moment | None, Query(alias="to", description="Accepted before.")] = None,
    text: Annotated[
        Text | None, Query(min_length=1, max_length=128, description="How an id, a user or an action begins.")
    ] = None,
    cursor: Annotated[str | None, Query(description="`next` or `previous` of an earlier answer.")] = None,
    limit: Limit = PAGE,
    total: Annotated[bool, Query(description="Also count all: it takes longer.")] = False,
) -> ExecutionPage:
    """The latest accepted first."""
    wanted = Wanted(
        states=tuple(filters.status or ()),
        bands=tuple(map(int, filters.priority or ())),
        user_id=filters.user_listed(caller),
        action=filters.action,
        lane=filters.lane,
        from_ms=ms_of(accepted_from),
        to_ms=ms_of(accepted_to),
        text=text,
    )
    before, after = _places(cursor)
    with services.ledger.reading() as connection:
        as_of_ms, written = written_until_ms(connection), is_written(connection)
        page = executions_page(connection, wanted, limit, before=before, after=after)
        counted = count_executions(connection, wanted) if total else None
    return ExecutionPage(
        executions=[row_answer(row) for row in page.rows],
        next=_cursor(_EARLIER, page.rows[-1]) if page.rows and page.has_earlier else None,
        previous=_cursor(_LATER, page.rows[0]) if page.rows and page.has_later else None,
        total=counted,
        written=written,
        source="ledger",
        as_of=shown_at(as_of_ms),
    )


@router.get("/queue", summary="Show how many wait and run")
def show_queue(services: ServicesOf, caller: ReadCaller, lane: Lane | None = None) -> QueueAnswer:
    """Of a lane, by default of lane `executions`."""
    queue = services.queue if lane is None else services.queue.on(lane)
    status = queue.views.status()
    (own,) = queue.views.queued_of(queue.lane, [caller.token.owner])
    most = status.settings["max_concurrent_executions"]
    judges_all = lane is None and caller.token.may(Scope.OPERATE)
    judged = [figures for _, figures in all_lanes(queue)] if judges_all else [status]
    return QueueAnswer(
        queue_depth=status.queue_depth,
        active_count=status.active_count,
        max_concurrent=None if most is None else int(most),
        by_priority=status.pending_by_priority,
        scheduled_count=status.scheduled_count,
        dead_count=status.dead_count,
        own_waiting=own,
        verdicts=verdict_answers([*judged_lanes(queue, judged), *services.ledger_watch.verdicts()]),
        source="redis",
        as_of=now_at(queue),
    )


@router.get("/{execution_id}", summary="Show an execution", response_model=OneExecution)
def show(services: ServicesOf, caller: ReadCaller, execution_id: ExecutionId) -> Response:
    """As it is now, and why it waits; one that Redis has forgotten, as the ledger knows it."""
    found = find(services, caller, execution_id)
    position, reasons, eta_seconds = None, list[str](), None
    if found.explained is not None:
        position, reasons = found.explained.position, found.explained.reasons
        if position is not None and not found.explained.stands_still:
            eta_seconds = _eta_seconds(services, found.record)
    dead = found.source == "redis" and found.record.ended and services.queue.views.is_dead(execution_id)
    answer = execution_answer(found.record, row=found.row, position=position, waits_for=reasons, dead=dead)
    fields: dict[str, Any] = dict(answer) | {"eta_seconds": eta_seconds}
    if found.record.ended and found.source == "redis":
        result = read_result(services.queue.views, execution_id)
        fields["exit_code"] = None if result is None else result.exit_code
    document = OneExecution.model_construct(**fields, source=found.source, as_of=shown_at(found.as_of_ms))
    # Most of what is asked: the framework would check once more what was made here.
    return Response(document.model_dump_json(), media_type="application/json")


@router.get("/{execution_id}/timeline", summary="Show what happened to an execution")
def show_timeline(services: ServicesOf, caller: ReadCaller, execution_id: ExecutionId) -> Timeline:
    """Its transitions in order, the latest thousand of them, from the ledger."""
    accepted_ms = find(services, caller, execution_id).record.accepted_ms
    # Not those of an earlier execution that had the same id, which may have been another user's.
    with services.ledger.reading() as connection:
        as_of_ms = written_until_ms(connection)
        steps = steps_of(connection, execution_id, STEPS, from_ms=accepted_ms or 0)
    return Timeline(
        execution_id=execution_id,
        steps=[
            Step(
                at=shown_at(each.at_ms),
                verb=each.verb,
                state=each.state,
                attempt=each.attempt,
                reason=each.reason,
                # Who steers an installation is not told to everybody.
                by=each.by if caller.token.may(Scope.OPERATE) else None,
                details=each.details,
            )
            for each in steps
        ],
        complete=len(steps) < STEPS,
        source="ledger",
        as_of=shown_at(as_of_ms),
    )


@router.get("/{execution_id}/payload", summary="Show what an execution runs")
def show_payload(services: ServicesOf, caller: ReadCaller, execution_id: ExecutionId) -> PayloadAnswer:
    """Its script or command; for its owner and for admins."""
    found = find(services, caller, execution_id)
    check_reads(caller, found.record)
    if (found.record.lane or "").startswith(SLOT_LANES):
        raise not_found("it is a slot that code takes: what runs is known to its process alone")
    source, raw = "redis", services.queue.views.event(execution_id)
    if raw is None:
        with services.ledger.reading() as connection:
            source, raw = "ledger", event_of(connection, execution_id) if is_of_ledger(connection, found) else None
    if raw is None:
        raise not_found("what it runs is not kept any more, or it is an actor's message")
    event = ExecutionRequestedEvent.from_json(raw).model_dump(mode="json", exclude_none=True)
    return PayloadAnswer(execution_id=execution_id, event=event, source=source, as_of=now_at(services.queue))


def _eta_seconds(services: Services, record: Record) -> float | None:
    rate = services.rates.per_second(record.action)
    if rate is None:
        return None
    before = services.queue.views.before_in_action(record.execution_id, record.action)
    return None if before is None else round((before + 1) / rate, 1)


def _cursor(way: str, row: Any) -> str:
    return cursor_of(way, row.accepted_ms, row.execution_id)


def _places(cursor: str | None) -> tuple[Place | None, Place | None]:
    """Where the page begins: behind the first place, or before the second."""
    if cursor is None:
        return None, None
    way, accepted_ms, execution_id = read_cursor(cursor, str, int, str)
    place = Place(accepted_ms, check_execution_id(execution_id))
    return (None, place) if way == _LATER else (place, None)
