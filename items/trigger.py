"""``Trigger`` and ``Firing``, as the database has them, and the execution that a firing starts.

In the flow: rows become these at the border of the database; nothing here asks anything. Times are Unix milliseconds
of the database's clock. An execution's id is made of its trigger and of the sequence or the instant at which it fires,
and is written down with the firing, so that it is sent under no other.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ..scheduler.events import ExecutionRequestedEvent
from ..scheduler.events.requested import ITEMS_MAX_BYTES
from ..scheduler.events.schedule import instant_of
from ..scheduler.model.item_tokens import OF_TRIGGERS
from ..scheduler.model.priority import Priority
from .json_texts import value_of
from .started import Started

SOURCE: Final = "TRIGGER"
_FIRST_CHARS: Final = 8


class TriggerType(StrEnum):
    """Of which type a trigger is."""

    QUEUE = "QUEUE"
    """It fires when its queue has items."""
    TIME = "TIME"
    """It fires at the times of a line of cron."""


class TriggerState(StrEnum):
    """Whether a trigger starts anything."""

    ACTIVE = "active"
    DISABLED = "disabled"
    BACKING_OFF = "backing_off"
    """Its last firing could not be sent: it is tried again at `backoff_ms`."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger's settings, and how it stands."""

    trigger_id: int
    external_id: str
    name: str
    type: TriggerType
    queue_id: int | None
    """Whose items it fires for; None: it is of type TIME."""
    batch_size: int
    """How many items an execution works on at most."""
    polling_interval: int
    """After so many seconds it looks again, if no item's arrival is told."""
    enabled: bool
    max_jobs: int
    """How many executions of it may live at once."""
    cron: str | None
    tz: str
    command: tuple[str, ...]
    image: str | None
    action: str
    user_id: str | None
    priority: Priority
    """The band of its executions."""
    timeout_seconds: int
    sequence: int
    """How often it has fired."""
    last_fired_ms: int | None
    next_fire_ms: int | None
    """When it looks again, or fires; None: never."""
    last_processed_item_id: str | None
    """The item that it claimed last."""
    failures: int
    """How many firings could not be sent, one after the other."""
    backoff_ms: int | None
    """It does not fire before."""
    last_error: str | None
    revision: int
    created_ms: int
    updated_ms: int
    notify_url: str | None = None
    """Who is told when it begins to fail."""
    live_jobs: int = 0
    """How many executions of it live, as far as was asked."""
    latest: tuple[Started, ...] = ()
    """What it started last, the latest first, as far as was asked."""

    @property
    def state(self) -> TriggerState:
        """Whether it starts anything."""
        if not self.enabled:
            return TriggerState.DISABLED
        return TriggerState.BACKING_OFF if self.failures else TriggerState.ACTIVE

    @property
    def fires_next_ms(self) -> int | None:
        """When it fires next, or looks for items, if as few of its executions live as may; None: never."""
        if not self.enabled or self.next_fire_ms is None:
            return None
        return max(self.next_fire_ms, self.backoff_ms or 0)


def trigger_of(row: Any) -> Trigger:
    """Return the trigger of a row of `triggers`, which may have `live_jobs` besides."""
    of: dict[str, Any] = dict(row._mapping)
    of |= {
        "type": TriggerType(of["type"]),
        "command": tuple(json.loads(of["command"])),
        "priority": Priority[of["priority"]],
    }
    return Trigger(**of)


def key_of_firing(trigger: Trigger, at_ms: int) -> str:
    """Return the key under which a trigger fires once.

    Args:
        trigger: The trigger, before it fires.
        at_ms: The instant of its line of cron; for a queue, now. An older copy of the ledger that is brought back
            counts again from an earlier sequence, and must not find executions of then.
    """
    instant = instant_of(at_ms)
    return instant if trigger.type is TriggerType.TIME else f"{trigger.sequence + 1}-{instant}"


def event_of(trigger: Trigger, key: str, items: Sequence[Any]) -> ExecutionRequestedEvent:
    """Return what a firing starts.

    Args:
        trigger: The trigger.
        key: Of the firing.
        items: Rows of the items that it claims.

    Raises:
        InvalidRequest: If the trigger's settings are not allowed (any more).
    """
    metadata: dict[str, Any] = {"user_id": trigger.user_id, "source": SOURCE, "labels": {"trigger": trigger.name}}
    if trigger.type is TriggerType.QUEUE:
        metadata["queue_item_ids"] = tuple(row.item_id for row in items)
    return ExecutionRequestedEvent.from_any(
        {
            # With a part that nobody else can guess, so that nobody takes the id before.
            "execution_id": f"{OF_TRIGGERS}{trigger.trigger_id}-{trigger.external_id[:_FIRST_CHARS]}:{key}",
            "command": trigger.command,
            "image": trigger.image,
            "action": trigger.action,
            "priority": trigger.priority,
            "timeout_seconds": trigger.timeout_seconds,
            "metadata": metadata,
            "items": f"[{','.join(map(item_json, items))}]" if trigger.type is TriggerType.QUEUE else None,
        }
    )


def item_json(item: Any) -> str:
    """Return what a program finds of an item, in ASCII; of one whose payload is too long for it, there is no payload.

    Args:
        item: A row of `queue_items`, before it is claimed.
    """
    told = {
        "id": item.item_id,
        "queue_id": item.queue_id,
        "reference": item.reference,
        "priority": -item.rank,
        "fence": item.fence + 1,
        "retries": item.retries,
    }
    text = _text(told | {"payload": value_of(item.payload)})
    return text if len(text) + len("[]") <= ITEMS_MAX_BYTES else _text(told)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
