"""``ApiQueues`` and ``ApiItems``: queues of items through the admin API, as far as the token allows.

In the flow: one side of `item_port`. What may be sent again is, by the client: an item, and each line of a file, is
added under a key of its own, so once. Who did it is the token's owner, not the user of this machine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, Final
from uuid import uuid4

from bandmaster.admin.answers.items import (
    ItemAnswer,
    ItemRow,
    ItemStats,
    QueueAnswer,
    QueueDeleted,
    UploadAnswer,
)
from bandmaster.admin.client import calls
from bandmaster.admin.client.blocking import Client
from bandmaster.admin.client.errors import LinesRefused
from bandmaster.items.states import Status

_A_PAGE: Final = 200


class ApiQueues:
    """Queues of items that an API offers. Every method raises ApiProblem and ApiUnavailable."""

    def __init__(self, client: Client) -> None:
        self._send = client.send

    def all(self) -> list[QueueAnswer]:
        """All, by name."""
        return self._send(calls.item_queues()).queues

    def one(self, name: str | int) -> QueueAnswer:
        """One, by its name or id."""
        return self._send(calls.item_queue(str(name)))

    def create(self, name: str, fields: Mapping[str, Any]) -> QueueAnswer:
        """Make one."""
        return self._send(calls.create_item_queue(name, **fields))

    def change(self, name: str, changed: Mapping[str, Any]) -> QueueAnswer:
        """Change one, whatever was seen of it."""
        return self._send(calls.change_item_queue(name, changed))

    def delete(self, name: str, *, force: bool) -> QueueDeleted:
        """Delete one; `force`, with its items."""
        return self._send(calls.delete_item_queue(name, force or None))

    def stats(self, name: str) -> ItemStats:
        """Count its items."""
        return self._send(calls.item_stats(name))


class ApiItems:
    """Items that an API offers. Every method raises ApiProblem and ApiUnavailable."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._send = client.send

    def latest(self, queue: str | None, statuses: Sequence[Status], reference: str | None, most: int) -> list[ItemRow]:
        """Those added last, the latest first."""
        found: list[ItemRow] = []
        cursor: str | None = None
        while len(found) < most:
            limit = min(_A_PAGE, most - len(found))
            page = self._send(calls.items(queue, status=statuses, reference=reference, cursor=cursor, limit=limit))
            found += page.items
            cursor = page.next
            if cursor is None:
                break
        return found

    def add(self, queue: str, payload: object, reference: str | None, priority: int) -> ItemRow:
        """Add one."""
        named = {} if reference is None else {"reference": reference}
        return self._send(calls.add_item(queue, payload, uuid4().hex, priority=priority, **named))

    def one(self, item_id: str) -> ItemAnswer:
        """One; without payload and result, if the token does not allow that."""
        return self._send(calls.item(item_id))

    def retry(self, item_id: str) -> ItemAnswer:
        """Let one be handed out again, as if it were new."""
        return self._send(calls.edit_item(item_id, {"status": Status.NEW.value}))

    def postpone(self, item_id: str, seconds: int) -> ItemAnswer:
        """Put one off for so long, by this machine's clock."""
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        return self._send(calls.edit_item(item_id, {"postpone_until": until.isoformat()}))

    def delete(self, item_id: str) -> ItemAnswer:
        """Delete one."""
        return self._send(calls.delete_item(item_id))

    def upload(
        self, queue: str, file: BinaryIO, kind: str, *, each: bool, key: str | None, progress: Callable[[int], None]
    ) -> UploadAnswer:
        """Add those of a file."""
        try:
            return self._client.upload_items(
                queue, file, format=kind, each=each, idempotency_key=key, progress=progress
            )
        except LinesRefused as refused:
            return UploadAnswer(added=0, known=0, refused=refused.refused, lines=list(refused.lines))

    def export(self, queue: str, kind: str, statuses: Sequence[Status]) -> Iterator[bytes]:
        """The pieces of a file of them."""
        return self._client.export_file(queue, kind, status=statuses)
