"""``ItemDesk``: all that commands ask of queues of items, their triggers and notifications, and do to them.

In the flow: commands know these protocols and no more; one set stands beside the ledger's database, another goes
through the API. Both answer with the API's documents.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from bandmaster.items.notifying.subject import Subject
from bandmaster.items.states import Status

if TYPE_CHECKING:
    from bandmaster.admin.answers.items import (
        ItemAnswer,
        ItemRow,
        ItemStats,
        QueueAnswer,
        QueueDeleted,
        UploadAnswer,
    )
    from bandmaster.admin.answers.notifications import NotificationList, NotificationRow
    from bandmaster.admin.answers.triggers import TriggerAnswer, TriggerDeleted


class ItemQueues(Protocol):
    """Queues of items. Of a name that no queue has, every method raises an error that says so."""

    def all(self) -> "list[QueueAnswer]":
        """All, by name."""
        ...

    def one(self, name: "str | int") -> "QueueAnswer":
        """One, by its name or id."""
        ...

    def create(self, name: str, fields: Mapping[str, Any]) -> "QueueAnswer":
        """Make one."""
        ...

    def change(self, name: str, changed: Mapping[str, Any]) -> "QueueAnswer":
        """Change one, whatever was seen of it."""
        ...

    def delete(self, name: str, *, force: bool) -> "QueueDeleted":
        """Delete one; `force`, with its items."""
        ...

    def stats(self, name: str) -> "ItemStats":
        """Count its items."""
        ...


class Items(Protocol):
    """Items of queues."""

    def latest(
        self, queue: str | None, statuses: Sequence[Status], reference: str | None, most: int
    ) -> "list[ItemRow]":
        """Those added last, the latest first."""
        ...

    def add(self, queue: str, payload: object, reference: str | None, priority: int) -> "ItemRow":
        """Add one."""
        ...

    def one(self, item_id: str) -> "ItemAnswer":
        """One."""
        ...

    def retry(self, item_id: str) -> "ItemAnswer":
        """Let one be handed out again, as if it were new."""
        ...

    def postpone(self, item_id: str, seconds: int) -> "ItemAnswer":
        """Put one off for so long."""
        ...

    def delete(self, item_id: str) -> "ItemAnswer":
        """Delete one."""
        ...

    def upload(
        self,
        queue: str,
        file: BinaryIO,
        kind: str,
        *,
        each: bool,
        key: str | None,
        progress: Callable[[int], None],
    ) -> "UploadAnswer":
        """Add those of a file; of wrong lines, all are counted, and the first are told.

        Args:
            queue: Its name.
            file: It can be read again.
            kind: `jsonl` or `csv`.
            each: Add each line that is right; else all lines, or nothing.
            key: Under the same one, no line is added twice.
            progress: Is told how many bytes were read.
        """
        ...

    def export(self, queue: str, kind: str, statuses: Sequence[Status]) -> Iterator[bytes]:
        """The pieces of a file of them."""
        ...


class Triggers(Protocol):
    """What starts executions for items, or at times."""

    def all(self) -> "list[TriggerAnswer]":
        """All, by name."""
        ...

    def one(self, name: str) -> "TriggerAnswer":
        """One."""
        ...

    def create(self, name: str, kind: str, fields: Mapping[str, Any]) -> "TriggerAnswer":
        """Make one; `kind`, QUEUE or TIME."""
        ...

    def change(self, name: str, changed: Mapping[str, Any]) -> "TriggerAnswer":
        """Change one, whatever was seen of it."""
        ...

    def delete(self, name: str) -> "TriggerDeleted":
        """Delete one; what it started goes on."""
        ...


class Notifications(Protocol):
    """What is sent to the addresses of queues and triggers."""

    def undelivered(self, subject: Subject | None, name: str | None) -> "NotificationList":
        """Those that were not taken, of all or of one queue or trigger."""
        ...

    def send_test(self, subject: Subject, name: str) -> "NotificationRow":
        """Try an address."""
        ...

    def one(self, notification_id: str) -> "NotificationRow":
        """One, and how its delivery stands."""
        ...


@dataclass(frozen=True, slots=True)
class ItemDesk:
    """Where a command sees and steers queues of items."""

    queues: ItemQueues
    items: Items
    triggers: Triggers
    notifications: Notifications
