"""Notifications: what waits, what was given up, and why; and tests of addresses.

In the flow: the ledger's process delivers them, tests as well; an address is a field of a queue or a trigger. Whoever
sends a test asks for its notification until it is not `waiting` any more. Nothing here needs Redis.
"""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query

from ...items.notifying.listing import Notification, Sought, Undelivered, find_notification, undelivered
from ...items.store import now_of
from ...scheduler.model.times import iso_of
from ..answers.notifications import NotificationList, NotificationRow
from .item_requests import QueueGiven, queue_named
from .moments import shown_at
from .names import MadeId, QueueName
from .requiring import OperateCaller, ServicesOf
from .trigger_requests import TriggerGiven

router: Final = APIRouter()


@router.get("/notifications", summary="List notifications that were not taken")
def list_notifications(
    services: ServicesOf,
    caller: OperateCaller,
    subject: Annotated[Literal["queue", "trigger"] | None, Query(description="Those of queues, or triggers.")] = None,
    name: Annotated[QueueName | None, Query(description="Those of the queue or the trigger of this name.")] = None,
    item_id: Annotated[MadeId | None, Query(description="Those that tell of this item.")] = None,
    taken: Annotated[bool, Query(description="With those that their receivers took, in the last 30 days.")] = False,
) -> NotificationList:
    """Those that wait, and those that were given up."""
    store = services.items.store
    found = undelivered(store, Sought(subject, name, item_id, taken))
    return notification_list(found, shown_at(store.read(now_of)))


@router.get("/notifications/{notification}", summary="Show a notification")
def show_notification(
    services: ServicesOf,
    caller: OperateCaller,
    notification: Annotated[MadeId, Path(description="The id that an answer has.")],
) -> NotificationRow:
    """How its delivery stands."""
    return notification_row(find_notification(services.items.store, notification))


@router.post("/queues/{queue}/test-notification", status_code=202, summary="Try a queue's address")
def send_queue_test(services: ServicesOf, caller: OperateCaller, queue: QueueGiven) -> NotificationRow:
    """A signed notification of the type `test` is sent to it, once. 422 if it has none."""
    found = services.items.queues.find(queue_named(queue))
    sent = services.items.testing.of_queue(found, by=caller.by)
    return notification_row(find_notification(services.items.store, sent))


@router.post("/triggers/{trigger}/test-notification", status_code=202, summary="Try a trigger's address")
def send_trigger_test(services: ServicesOf, caller: OperateCaller, trigger: TriggerGiven) -> NotificationRow:
    """A signed notification of the type `test` is sent to it, once. 422 if it has none."""
    found = services.items.triggers.find(queue_named(trigger))
    sent = services.items.testing.of_trigger(found, by=caller.by)
    return notification_row(find_notification(services.items.store, sent))


def notification_list(found: Undelivered, as_of: str) -> NotificationList:
    """Return the answer."""
    rows = [notification_row(each) for each in found.latest]
    return NotificationList(
        waiting=found.waiting, failed=found.failed, notifications=rows, source="ledger", as_of=as_of
    )


def notification_row(found: Notification) -> NotificationRow:
    """Return the answer of one."""
    return NotificationRow(
        id=found.delivery_id,
        subject=found.subject,
        name=found.name,
        event=found.event,
        state=found.state,
        item_id=found.item_id,
        created_at=shown_at(found.created_ms),
        attempts=found.attempts,
        again_at=iso_of(found.again_ms),
        sent_at=iso_of(found.sent_ms),
        failed_at=iso_of(found.failed_ms),
        last_problem=found.last_problem,
        last_status=found.last_status,
    )
