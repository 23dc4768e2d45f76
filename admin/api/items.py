"""Items of queues: added, listed, and changed by operators.

In the flow: programs add with the scope submit. Operators see all items, and what is in them only admins do; each
change names what was seen (`If-Match`). Robots have routes of their own (`robots.py`). Nothing here needs Redis.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from ...items.listing import Place, Sought
from ...items.model import Item
from ...items.states import Status
from ...scheduler.model.errors import InvalidRequest
from ..answers.items import ItemAnswer, ItemPage, ItemRow
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from .cursors import cursor_of, read_cursor
from .item_requests import (
    IfMatch,
    ItemEdit,
    NewItem,
    QueueText,
    Reference,
    queue_named,
    revision_of,
    tag,
)
from .item_shapes import item_answer, item_row, shown_now
from .moments import Moment, ms_of
from .names import MadeId, RobotId
from .requiring import OperateCaller, ServicesOf, SubmitCaller
from .robots import added
from .strict_bodies import StrictRoute
from .submitting import Key

router: Final = APIRouter(route_class=StrictRoute)
PAGE: Final = 50
MOST_A_PAGE: Final = 200


@router.post("/queue-items", status_code=201, summary="Add an item to a queue")
def add_item(services: ServicesOf, caller: SubmitCaller, new: NewItem, idempotency_key: Key = None) -> ItemRow:
    """By the queue's id, or its name. 409 on a reference that the queue has already, if it wants each once."""
    if (new.queue_id is None) == (new.queue_name is None):
        raise InvalidRequest("queue_id, queue_name", "give exactly one of the two")
    queue = services.items.queues.find(new.queue_name or new.queue_id or 0)
    return added(services, caller, queue, new, idempotency_key)


@router.get("/queue-items", summary="List items")
def list_items(
    services: ServicesOf,
    caller: OperateCaller,
    queue: Annotated[QueueText | None, Query(description="Only of this queue: its name or id.")] = None,
    status: Annotated[list[Status] | None, Query(description="Only these; none: all that are not deleted.")] = None,
    reference: Annotated[Reference | None, Query(description="Only those with this reference.")] = None,
    robot_id: Annotated[RobotId | None, Query(description="Only those that this robot holds, or has ended.")] = None,
    added_from: Annotated[Moment | None, Query(alias="from", description="Added then or later.")] = None,
    added_to: Annotated[Moment | None, Query(alias="to", description="Added before.")] = None,
    cursor: Annotated[str | None, Query(description="`next` of an earlier answer.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_A_PAGE)] = PAGE,
) -> ItemPage:
    """The latest first, without payloads and results."""
    before = None if cursor is None else Place(*read_cursor(cursor, int, str))
    of = None if queue is None else services.items.queues.find(queue_named(queue))
    sought = Sought(
        queue_id=None if of is None else of.queue_id,
        statuses=tuple(status or ()),
        reference=reference,
        robot_id=robot_id,
        created_from_ms=ms_of(added_from),
        created_to_ms=ms_of(added_to),
    )
    found = services.items.listing.page(sought, limit + 1, before=before)
    page = found[:limit]
    return ItemPage(
        items=[item_row(each) for each in page],
        next=cursor_of(page[-1].created_ms, page[-1].item_id) if len(found) > limit else None,
        source="ledger",
        as_of=shown_now(services),
    )


@router.get("/queue-items/{item_id}", summary="Show an item")
def show_item(services: ServicesOf, caller: OperateCaller, item_id: MadeId, response: Response) -> ItemAnswer:
    """Its ETag says which state was seen. Only admins see payload and result."""
    return _shown(services.items.listing.one(item_id), caller, response)


@router.patch("/queue-items/{item_id}", summary="Edit an item")
def edit_item(
    services: ServicesOf,
    caller: OperateCaller,
    item_id: MadeId,
    new: ItemEdit,
    response: Response,
    if_match: IfMatch = None,
) -> ItemAnswer:
    """What is left out stays. 428 without If-Match; 412 if it was changed meanwhile."""
    revision = revision_of(if_match)
    given = new.model_fields_set
    changed = new.model_dump(include=given - {"deadline_at", "postpone_until", "status"})
    if "priority" in given and new.priority is None:
        raise InvalidRequest("priority", "it is null", allowed="a number; left out, it stays as it is")
    if "deadline_at" in given:
        changed["deadline_ms"] = ms_of(new.deadline_at)
    if new.postpone_until is not None and new.status is not None:
        raise InvalidRequest("status", "it is postponed as well", allowed="one of status and postpone_until")
    if new.postpone_until is not None:
        changed["available_ms"] = ms_of(new.postpone_until)
    if new.status is not None:
        changed["status"] = new.status
    item = services.items.editing.edit(item_id, changed, by=caller.by, revision=revision)
    if item.status is Status.NEW:
        services.items.waking.tell(item.queue_id)
    return _shown(item, caller, response)


@router.delete("/queue-items/{item_id}", summary="Delete an item")
def delete_item(
    services: ServicesOf, caller: OperateCaller, item_id: MadeId, response: Response, if_match: IfMatch = None
) -> ItemAnswer:
    """It stays as DELETED until its time is over; whoever holds it loses it. 412 if it was changed meanwhile."""
    revision = None if if_match is None else revision_of(if_match)
    return _shown(services.items.editing.delete(item_id, by=caller.by, revision=revision), caller, response)


def _shown(item: Item, caller: Caller, response: Response) -> ItemAnswer:
    tag(response, item.revision)
    return item_answer(item, withheld=not caller.token.may(Scope.ADMIN))
