"""Who may know an item, and who holds it (D41).

In the flow: whatever a robot or a program does with an item begins here, in the transaction that does it. One whose
token is for some queues knows the items of no other queue, and the program of an execution those of this execution
only: all others are as if there were none. Nothing is written here.
"""

from typing import Any

from sqlalchemy import Connection, Select

from ..scheduler.model.times import iso_of
from .errors import ItemUnknown, LeaseLost
from .model import Item
from .states import ENDED, Status


def row_of(
    connection: Connection,
    asked: Select[Any],
    item_id: str,
    *,
    queues: tuple[str, ...] | None,
    job_id: str | None,
) -> Any:
    """Return the row of an item that somebody may know.

    Args:
        connection: Of a transaction.
        asked: Selects an item, with the name of its queue, by the parameter `said_of`.
        item_id: Which.
        queues: The names of the queues that they may know; None: all.
        job_id: The execution whose items they may know; None: all.

    Raises:
        ItemUnknown: If there is none.
    """
    row = connection.execute(asked, {"said_of": item_id}).one_or_none()
    if row is None or job_id not in (None, row.job_id) or (queues is not None and row.name not in queues):
        raise ItemUnknown(item_id)
    return row


def check_held(item: Item, robot_id: str, fence: int | None, at_ms: int) -> None:
    """Refuse somebody who does not hold an item.

    Raises:
        LeaseLost: With what has become of it.
    """
    if item.status is not Status.IN_PROGRESS:
        # Whoever looked at the queue gave it back.
        ran_out = item.abandoned > 0 and item.status in (Status.NEW, Status.ABANDONED)
        is_last = item.locked_by_robot_id == robot_id and fence in (None, item.fence)
        raise LeaseLost(item.item_id, ("your lease ended, and " if ran_out and is_last else "") + _became(item))
    if item.locked_by_robot_id != robot_id:
        raise LeaseLost(item.item_id, f"robot {item.locked_by_robot_id} has held it since {iso_of(item.locked_at_ms)}")
    if fence is not None and fence != item.fence:
        since = iso_of(item.locked_at_ms)
        raise LeaseLost(
            item.item_id, f"it was handed out again at {since}, with the fence {item.fence}, and yours is {fence}"
        )
    if item.locked_until_ms is not None and item.locked_until_ms <= at_ms:
        raise LeaseLost(item.item_id, f"your lease ended at {iso_of(item.locked_until_ms)}")


def _became(item: Item) -> str:
    since = iso_of(item.ended_ms if item.status in ENDED and item.ended_ms is not None else item.updated_ms)
    times = f"; {item.abandoned} leases of it ran out" if item.abandoned else ""
    return f"it has been {item.status} since {since}{times}"
