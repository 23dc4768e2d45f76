"""Calls about queues and their items. In the flow: see the package."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ...answers.items import (
    ClaimedItem,
    ClaimedItems,
    ItemAnswer,
    ItemPage,
    ItemRow,
    ItemStats,
    QueueAnswer,
    QueueDeleted,
    QueueList,
    UploadAnswer,
)
from ..call import V1, Call, Content, between, given, named

UPLOAD_SECONDS = 600.0
"""How long the API may take for a file once it has it: a hundred thousand items are one transaction."""
_ITEMS = f"{V1}/queue-items"


def item_queues() -> Call[QueueList]:
    """All queues of items."""
    return Call("GET", f"{V1}/queues", QueueList)


def item_queue(queue: str) -> Call[QueueAnswer]:
    """A queue, by its name or id."""
    return Call("GET", named("queues", queue), QueueAnswer)


def create_item_queue(name: str, **fields: Any) -> Call[QueueAnswer]:
    """Make a queue; `fields`, those of `NewQueue`."""
    return Call("POST", f"{V1}/queues", QueueAnswer, body={"name": name, **fields})


def change_item_queue(queue: str, changed: Mapping[str, Any], expected: int | None = None) -> Call[QueueAnswer]:
    """Change a queue; `expected`, the revision that was seen; None: whatever it is."""
    return Call("PUT", named("queues", queue), QueueAnswer, body=changed, headers=_match(expected))


def delete_item_queue(queue: str, force: bool | None = None) -> Call[QueueDeleted]:
    """Delete a queue; `force`, with its items."""
    return Call("DELETE", named("queues", queue), QueueDeleted, query=given(force=force))


def item_stats(queue: str) -> Call[ItemStats]:
    """How many items of a queue are what."""
    return Call("GET", f"{named('queues', queue)}/stats", ItemStats)


def add_item(queue: str, payload: Any = None, key: str | None = None, **fields: Any) -> Call[ItemRow]:
    """Add an item; `key`, under which it is added once; `fields`, those of `NewItem`."""
    body = {"queue_name": queue, "payload": payload, **fields}
    return Call("POST", _ITEMS, ItemRow, body=body, headers=_key(key))


def add_item_by_name(queue: str, payload: Any = None, key: str | None = None, **fields: Any) -> Call[ItemRow]:
    """The same as a robot."""
    body = {"queue_name": queue, "payload": payload, **fields}
    return Call("POST", f"{_ITEMS}/add", ItemRow, body=body, headers=_key(key))


def items(
    queue: str | None = None,
    *,
    status: Sequence[str] = (),
    reference: str | None = None,
    robot_id: str | None = None,
    added_from: datetime | None = None,
    added_to: datetime | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[ItemPage]:
    """Items, the latest first."""
    filters = given(queue=queue, status=list(status) or None, reference=reference, robot_id=robot_id)
    filters |= between(added_from, added_to) | given(cursor=cursor, limit=limit)
    return Call("GET", _ITEMS, ItemPage, query=filters)


def upload_items(queue: str, content: Content, key: str | None = None, mode: str | None = None) -> Call[UploadAnswer]:
    """Add the items of a file; `mode`, `each`: each line that is right; none: all lines, or nothing.

    Sent again under the same `key`, each line is added once.
    """
    path = f"{named('queues', queue)}/items/upload"
    query = given(mode=mode)
    return Call("POST", path, UploadAnswer, query, content=content, headers=_key(key), waits_seconds=UPLOAD_SECONDS)


def item(item_id: str) -> Call[ItemAnswer]:
    """An item."""
    return Call("GET", named("queue-items", item_id), ItemAnswer)


def edit_item(item_id: str, changed: Mapping[str, Any], expected: int | None = None) -> Call[ItemAnswer]:
    """Change an item; `expected`, the revision that was seen; None: whatever it is."""
    return Call("PATCH", named("queue-items", item_id), ItemAnswer, body=changed, headers=_match(expected))


def delete_item(item_id: str, expected: int | None = None) -> Call[ItemAnswer]:
    """Delete an item; `expected`, as above."""
    return Call("DELETE", named("queue-items", item_id), ItemAnswer, headers=_match(expected))


def claim_items(
    queue: str,
    key: str,
    *,
    count: int = 1,
    robot_id: str | None = None,
    lease_seconds: int | None = None,
    wait_seconds: int = 0,
) -> Call[ClaimedItems]:
    """Take items; sent again under the same key, it gets the same ones."""
    body = {"queue_name": queue, "count": count, "wait_seconds": wait_seconds}
    body |= given(robot_id=robot_id, lease_seconds=lease_seconds)
    waits = wait_seconds if isinstance(wait_seconds, int) else 0  # pyright: ignore[reportUnnecessaryIsInstance]
    return Call("POST", f"{_ITEMS}/next", ClaimedItems, body=body, headers=_key(key), waits_seconds=waits)


def claim_item(
    queue_name: str | None = None, queue_id: int | None = None, robot_id: str | None = None
) -> Call[ClaimedItem]:
    """Take an item by a request that may be lost; where nothing waits, the answer is none. `claim_items` is better."""
    query = given(queue_name=queue_name, queue_id=queue_id, robot_id=robot_id)
    return Call("GET", f"{_ITEMS}/next", ClaimedItem, query=query, is_once=True)


def held_item(item_id: str, robot_id: str | None = None) -> Call[ClaimedItem]:
    """An item, for whom holds it."""
    return Call("GET", f"{named('queue-items', item_id)}/held", ClaimedItem, query=given(robot_id=robot_id))


def settle_item(item_id: str, status: str, fence: int | None = None, **said: Any) -> Call[ItemRow]:
    """Say what came of an item; `said`, the fields of `ItemSaid`."""
    return Call("PUT", named("queue-items", item_id), ItemRow, body={"status": status, **given(fence=fence), **said})


def _match(expected: int | None) -> dict[str, str]:
    return {"If-Match": "*" if expected is None else f'"{expected}"'}


def _key(key: str | None) -> dict[str, str]:
    return given(**{"Idempotency-Key": key})
