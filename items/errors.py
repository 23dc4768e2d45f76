"""What is refused of queues and items; a database that does not answer raises LedgerError, a wrong value
InvalidRequest.

::

    BandmasterError
    └── ItemsRefused            with a stable code
        ├── QueueUnknown
        ├── ItemUnknown
        ├── QueueInactive       it takes and gives nothing
        ├── QueueNameTaken
        ├── QueueHasItems
        ├── DuplicateReference
        ├── KeyReused           an idempotency key came with something else
        ├── ClaimOver           what was claimed with a key is not held any more
        ├── LeaseLost           the item is not the caller's to settle
        ├── WrongStatus
        ├── ItemChanged         somebody changed it meanwhile
        ├── NotificationUnknown
        ├── TriggerUnknown
        ├── TriggerNameTaken
        └── QueueHasTriggers    a queue for which a trigger fires is not deleted
"""

from collections.abc import Sequence
from typing import ClassVar

from ..scheduler.model.errors import BandmasterError, shown


class ItemsRefused(BandmasterError):
    """A queue or an item is not in a state in which this can be done."""

    code: ClassVar[str] = "refused"
    """Stable, for programs."""


class QueueUnknown(ItemsRefused):
    """There is no such queue, or the caller may not know of it."""

    code: ClassVar[str] = "not_found"

    def __init__(self, queue: str | int) -> None:
        """Args: `queue`, its name or id."""
        super().__init__(f"there is no queue {shown(queue)}")


class ItemUnknown(ItemsRefused):
    """There is no such item, or the caller may not know of it."""

    code: ClassVar[str] = "not_found"

    def __init__(self, item_id: str) -> None:
        """Args: `item_id`, its id."""
        super().__init__(f"there is no item {shown(item_id)}")


class QueueInactive(ItemsRefused):
    """The queue takes and gives nothing."""

    code: ClassVar[str] = "queue_inactive"

    def __init__(self, name: str) -> None:
        """Args: `name`, of the queue."""
        super().__init__(f"queue {shown(name)} is inactive: it takes and gives nothing until somebody activates it")


class QueueNameTaken(ItemsRefused):
    """Another queue has the name."""

    code: ClassVar[str] = "name_taken"

    def __init__(self, name: str) -> None:
        """Args: `name`, that is taken."""
        super().__init__(f"there is a queue {shown(name)} already")


class QueueHasItems(ItemsRefused):
    """It cannot be done to a queue that has items."""

    code: ClassVar[str] = "queue_has_items"

    def __init__(self, name: str, what: str) -> None:
        """Args: `name`, of the queue; `what`, why not, and what to do."""
        super().__init__(f"queue {shown(name)} has items: {what}")


class DuplicateReference(ItemsRefused):
    """Another item of the queue has the reference, and the queue wants each once."""

    code: ClassVar[str] = "duplicate"

    def __init__(self, reference: str, queue: str, item_id: str | None) -> None:
        """Args: `reference`; `queue`, its name; `item_id`, which item has it, if it is known."""
        has = "another item" if item_id is None else f"item {item_id}"
        super().__init__(f"{has} of queue {shown(queue)} has the reference {shown(reference)} already")
        self.item_id = item_id


class KeyReused(ItemsRefused):
    """An idempotency key was sent with something else before."""

    code: ClassVar[str] = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__("the Idempotency-Key was sent with another body before: take a new key for each request")


class ClaimOver(ItemsRefused):
    """What was claimed with a key is not held any more."""

    code: ClassVar[str] = "claim_over"

    def __init__(self, item_id: str) -> None:
        """Args: `item_id`, one of the items."""
        super().__init__(
            f"with this Idempotency-Key item {item_id} was handed out, and it is not held by it any more: take a new "
            "key for a new claim"
        )


class LeaseLost(ItemsRefused):
    """The caller does not hold the item."""

    code: ClassVar[str] = "lease_lost"

    def __init__(self, item_id: str, why: str) -> None:
        """Args: `item_id`; `why`, what has become of it."""
        super().__init__(f"item {item_id} is not yours to settle: {why}; nothing was changed")


class WrongStatus(ItemsRefused):
    """The item's status does not allow it."""

    code: ClassVar[str] = "wrong_status"

    def __init__(self, before: str, after: str, *, allowed: Sequence[str], by: str) -> None:
        """Args: `before`, what it is; `after`, what it was to be; `allowed`, what it can become; `by`, by whom."""
        can = ", ".join(allowed) or "nothing"
        super().__init__(f"an item that is {before} cannot become {after} by the {by}; it can become: {can}")


class ItemChanged(ItemsRefused):
    """It is not what the caller saw."""

    code: ClassVar[str] = "changed_meanwhile"

    def __init__(self, what: str) -> None:
        """Args: `what`, the item or the queue."""
        super().__init__(f"{what} has changed since it was read: read it again, and decide anew")


class NotificationUnknown(ItemsRefused):
    """There is no such notification, or it was deleted as it is old."""

    code: ClassVar[str] = "not_found"

    def __init__(self, delivery_id: str) -> None:
        """Args: `delivery_id`, its id."""
        super().__init__(f"there is no notification {shown(delivery_id)}")


class TriggerUnknown(ItemsRefused):
    """There is no such trigger."""

    code: ClassVar[str] = "not_found"

    def __init__(self, trigger: str | int) -> None:
        """Args: `trigger`, its name or id."""
        super().__init__(f"there is no trigger {shown(trigger)}")


class TriggerNameTaken(ItemsRefused):
    """Another trigger has the name."""

    code: ClassVar[str] = "name_taken"

    def __init__(self, name: str) -> None:
        """Args: `name`, that is taken."""
        super().__init__(f"there is a trigger {shown(name)} already")


class QueueHasTriggers(ItemsRefused):
    """Triggers fire for the queue."""

    code: ClassVar[str] = "queue_has_triggers"

    def __init__(self, name: str, trigger: str) -> None:
        """Args: `name`, of the queue; `trigger`, one that fires for it."""
        super().__init__(f"trigger {shown(trigger)} fires for queue {shown(name)}: delete the trigger first")
