"""``LedgerQueues`` and ``LedgerItems``: queues of items beside the ledger's database.

In the flow: one side of `item_port`. Robots that wait find what is added here within a second. Each change is in the
audit under the user's name and host; an upload that was killed can be repeated under the same key.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from bandmaster.admin.answers.items import (
    ItemAnswer,
    ItemRow,
    ItemStats,
    LineRefused,
    QueueAnswer,
    QueueDeleted,
    UploadAnswer,
)
from bandmaster.admin.api.item_shapes import item_answer, item_row, queue_answer, stats_answer
from bandmaster.items.adding import key_of
from bandmaster.items.exporting import exported
from bandmaster.items.item_lines import FileFormat
from bandmaster.items.listing import Sought
from bandmaster.items.model import Item, Queue
from bandmaster.items.opened import Items as OpenItems
from bandmaster.items.states import Status
from bandmaster.items.statistics import figures_of
from bandmaster.items.store import now_of
from bandmaster.scheduler.model.operators import user_at_host


class LedgerQueues:
    """Queues of items of one database. Every method raises LedgerError if it does not answer."""

    def __init__(self, items: OpenItems) -> None:
        self._items = items

    def all(self) -> list[QueueAnswer]:
        """All, by name."""
        return [_shown(each) for each in self._items.queues.all()]

    def one(self, name: str | int) -> QueueAnswer:
        """One; raises QueueUnknown, as do the others that name one."""
        return _shown(self._items.queues.find(name))

    def create(self, name: str, fields: Mapping[str, Any]) -> QueueAnswer:
        """Make one; raises QueueNameTaken."""
        return _shown(self._items.queues.create(name, by=user_at_host(), **fields))

    def change(self, name: str, changed: Mapping[str, Any]) -> QueueAnswer:
        """Change one."""
        return _shown(self._items.queues.change(name, dict(changed), by=user_at_host(), revision=None))

    def delete(self, name: str, *, force: bool) -> QueueDeleted:
        """Delete one; raises QueueHasItems without `force`."""
        return QueueDeleted(name=name, items=self._items.queues.delete(name, by=user_at_host(), force=force))

    def stats(self, name: str) -> ItemStats:
        """Count its items."""
        queue, store = self._items.queues.find(name), self._items.store
        return stats_answer(queue, figures_of(store, queue.queue_id), store.read(now_of))


class LedgerItems:
    """Items of one database. Every method raises LedgerError if it does not answer."""

    def __init__(self, items: OpenItems) -> None:
        self._items = items

    def latest(self, queue: str | None, statuses: Sequence[Status], reference: str | None, most: int) -> list[ItemRow]:
        """Those added last, the latest first."""
        of = None if queue is None else self._items.queues.find(queue).queue_id
        return [item_row(each) for each in self._items.listing.page(Sought(of, tuple(statuses), reference), most)]

    def add(self, queue: str, payload: object, reference: str | None, priority: int) -> ItemRow:
        """Add one; raises ReferenceTaken, and QueueInactive."""
        found = self._items.queues.find(queue)
        fields: dict[str, Any] = {"payload": payload, "reference": reference, "priority": priority}
        return item_row(self._items.adding.add(found, by=user_at_host(), **fields))

    def one(self, item_id: str) -> ItemAnswer:
        """One; raises ItemUnknown, as do the others that name one."""
        return _whole(self._items.listing.one(item_id))

    def retry(self, item_id: str) -> ItemAnswer:
        """Let one be handed out again, as if it were new."""
        return self._edit(item_id, {"status": Status.NEW})

    def postpone(self, item_id: str, seconds: int) -> ItemAnswer:
        """Put one off for so long, by the database's clock."""
        return self._edit(item_id, {"available_ms": self._items.store.read(now_of) + seconds * 1000})

    def delete(self, item_id: str) -> ItemAnswer:
        """Delete one."""
        return _whole(self._items.editing.delete(item_id, by=user_at_host(), revision=None))

    def upload(
        self, queue: str, file: BinaryIO, kind: str, *, each: bool, key: str | None, progress: Callable[[int], None]
    ) -> UploadAnswer:
        """Add those of a file."""
        digest = None if key is None else key_of("upload", queue, key)
        report = self._items.uploading.upload(
            self._items.queues.find(queue),
            file,
            FileFormat(kind),
            by=user_at_host(),
            whole=not each,
            key=digest,
            progress=progress,
        )
        lines = [LineRefused(line=one.line, field=one.field, problem=one.problem) for one in report.told]
        return UploadAnswer(added=report.added, known=report.known, refused=report.wrong, lines=lines)

    def export(self, queue: str, kind: str, statuses: Sequence[Status]) -> Iterator[bytes]:
        """The pieces of a file of them."""
        sought = Sought(self._items.queues.find(queue).queue_id, tuple(statuses))
        return (piece.encode() for piece in exported(self._items.store, sought, FileFormat(kind)))

    def _edit(self, item_id: str, changed: dict[str, Any]) -> ItemAnswer:
        return _whole(self._items.editing.edit(item_id, changed, by=user_at_host(), revision=None))


def _shown(queue: Queue) -> QueueAnswer:
    return queue_answer(queue, tells_all=True)


def _whole(item: Item) -> ItemAnswer:
    return item_answer(item, withheld=False)
