"""Notifications that receivers have not taken: what waits, what was given up, and why.

In the flow: the ledger's process delivers them; an address is a field of a queue or a trigger. Nothing here needs
Redis.
"""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query

from ...items.notifying.listing import Undelivered, undelivered
from ...items.store import now_of
from ...scheduler.model.times import iso_of
from ..answers.notifications import NotificationList, NotificationRow
from .moments import shown_at
from .requiring import OperateCaller, ServicesOf

router: Final = APIRouter()


@router.get("/notifications", summary="List notifications that were not taken")
def list_notifications(
    services: ServicesOf,
    caller: OperateCaller,
    subject: Annotated[Literal["queue", "trigger"] | None, Query(description="Those of queues, or triggers.")] = None,
) -> NotificationList:
    """Those that wait, and those that were given up."""
    store = services.items.store
    return notification_list(undelivered(store, subject), shown_at(store.read(now_of)))


def notification_list(found: Undelivered, as_of: str) -> NotificationList:
    """Return the answer."""
    rows = [
        NotificationRow(
            id=each.delivery_id,
            subject=each.subject,
            name=each.name,
            event=each.event,
            item_id=each.item_id,
            created_at=shown_at(each.created_ms),
            attempts=each.attempts,
            again_at=iso_of(each.again_ms),
            failed_at=iso_of(each.failed_ms),
            last_problem=each.last_problem,
        )
        for each in found.latest
    ]
    return NotificationList(
        waiting=found.waiting, failed=found.failed, notifications=rows, source="ledger", as_of=as_of
    )
