"""Queues of items: made, changed and deleted by admins, and counted.

In the flow: each change names what was seen (`If-Match`) and is in the audit. Nothing here needs Redis.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from ...items.model import Queue
from ...items.statistics import figures_of
from ...items.store import now_of
from ..answers.items import ItemStats, QueueAnswer, QueueDeleted, QueueList
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from .item_requests import IfMatch, NewQueue, QueueChange, QueueGiven, changed_of, queue_named, revision_of, tag
from .item_shapes import queue_answer, shown_now, stats_answer
from .requiring import AdminCaller, OperateCaller, ServicesOf
from .strict_bodies import StrictRoute

router: Final = APIRouter(route_class=StrictRoute)
_MAY_BE_NONE: Final = frozenset({"description", "payload_schema", "notify_url"})


@router.get("/queues", summary="List the queues of items")
def list_item_queues(services: ServicesOf, caller: OperateCaller) -> QueueList:
    """By name."""
    found, tells = services.items.queues.all(), caller.token.may(Scope.ADMIN)
    queues = [queue_answer(each, tells_all=tells) for each in found]
    return QueueList(queues=queues, source="ledger", as_of=shown_now(services))


@router.post("/queues", status_code=201, summary="Make a queue of items")
def create_item_queue(services: ServicesOf, caller: AdminCaller, new: NewQueue, response: Response) -> QueueAnswer:
    """409 if another has the name."""
    return _shown(services.items.queues.create(by=caller.by, **new.model_dump()), caller, response)


@router.get("/queues/{queue}", summary="Show a queue of items")
def show_item_queue(services: ServicesOf, caller: OperateCaller, queue: QueueGiven, response: Response) -> QueueAnswer:
    """Its ETag says which state was seen."""
    return _shown(services.items.queues.find(queue_named(queue)), caller, response)


@router.put("/queues/{queue}", summary="Change a queue of items")
def change_item_queue(
    services: ServicesOf,
    caller: AdminCaller,
    queue: QueueGiven,
    new: QueueChange,
    response: Response,
    if_match: IfMatch = None,
) -> QueueAnswer:
    """What is left out stays. 428 without If-Match; 412 if it was changed meanwhile."""
    revision = revision_of(if_match)
    changed = changed_of(new, _MAY_BE_NONE)
    after = services.items.queues.change(queue_named(queue), changed, by=caller.by, revision=revision)
    return _shown(after, caller, response)


@router.delete("/queues/{queue}", summary="Delete a queue of items")
def delete_item_queue(
    services: ServicesOf,
    caller: AdminCaller,
    queue: QueueGiven,
    force: Annotated[bool, Query(description="Delete its items with it, so that nothing is left of them.")] = False,
) -> QueueDeleted:
    """409 if it has items, without `force`."""
    found = services.items.queues.find(queue_named(queue))
    deleted = services.items.queues.delete(found.queue_id, by=caller.by, force=force)
    return QueueDeleted(name=found.name, items=deleted)


@router.get("/queues/{queue}/stats", summary="Count the items of a queue")
def show_item_stats(services: ServicesOf, caller: OperateCaller, queue: QueueGiven) -> ItemStats:
    """Without those that are deleted."""
    found = services.items.queues.find(queue_named(queue))
    store = services.items.store
    return stats_answer(found, figures_of(store, found.queue_id), store.read(now_of))


def _shown(queue: Queue, caller: Caller, response: Response) -> QueueAnswer:
    tag(response, queue.revision)
    return queue_answer(queue, tells_all=caller.token.may(Scope.ADMIN))
