"""Checks of a trigger's fields: each alone, together, and whether what they say could run.

In the flow: `triggers` asks in the transaction that makes or changes one, so nothing of what is refused is written.
"""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from ..k8s.runnable import check_runnable
from ..scheduler.events.fields import DEFAULT_ACTION
from ..scheduler.model.cron import Cron
from ..scheduler.model.errors import InvalidRequest
from ..scheduler.model.priority import Priority
from .bounds import BATCH_SIZE, COMMAND_MAX_CHARS, JOBS, POLLING_SECONDS, TIMEOUT_SECONDS
from .checks import check_fields
from .names import check_trigger_name
from .queues import queue_in
from .trigger import Trigger, TriggerType, event_of, key_of_firing

DEFAULTS: Final[Mapping[str, Any]] = {
    "queue_id": None,
    "batch_size": BATCH_SIZE,
    "polling_interval": POLLING_SECONDS,
    "enabled": True,
    "max_jobs": JOBS,
    "cron": None,
    "tz": "UTC",
    "image": None,
    "action": DEFAULT_ACTION,
    "user_id": None,
    "priority": Priority.NORMAL,
    "timeout_seconds": TIMEOUT_SECONDS,
    "notify_url": None,
}
_OF_QUEUES: Final = ("batch_size", "polling_interval")
"""What means nothing of a trigger of type TIME."""


def check_values(values: Mapping[str, Any]) -> None:
    """Refuse fields that are not allowed.

    Args:
        values: All fields of a trigger that people set.

    Raises:
        InvalidRequest: With the first such field.
    """
    check_trigger_name(values["name"])
    Priority.parse(values["priority"])
    check_fields({name: value for name, value in values.items() if name != "priority"})


def check_fit(connection: Connection, values: Mapping[str, Any]) -> None:
    """Refuse fields that do not fit together.

    Args:
        connection: Of the transaction that writes them.
        values: All fields of a trigger that people set.

    Raises:
        InvalidRequest: With the first such field.
        QueueUnknown: If there is no such queue.
    """
    is_of_queue = values["type"] is TriggerType.QUEUE
    if is_of_queue != (values["queue_id"] is not None):
        raise InvalidRequest("queue_id", f"the type is {values['type']}", allowed="with QUEUE, and only with it")
    if is_of_queue == (values["cron"] is not None):
        raise InvalidRequest("cron", f"the type is {values['type']}", allowed="with TIME, and only with it")
    for name in () if is_of_queue else _OF_QUEUES:
        if values[name] != DEFAULTS[name]:
            raise InvalidRequest(name, f"the type is {values['type']}", allowed="with QUEUE, and only with it")
    if values["cron"] is not None:
        Cron.read(values["cron"], values["tz"])
    if sum(map(len, values["command"])) > COMMAND_MAX_CHARS:
        raise InvalidRequest("command", "it is too long", allowed=f"at most {COMMAND_MAX_CHARS} characters")
    if is_of_queue:
        # It is not deleted before this trigger is there.
        queue_in(connection, values["queue_id"], shares=True)


def check_runs(trigger: Trigger) -> None:
    """Refuse a trigger of which no firing could be sent, or no pod could run it.

    Raises:
        InvalidRequest: If a firing could not be sent.
        PodRejected: If no pod could run it.
    """
    check_runnable(event_of(trigger, key_of_firing(trigger, trigger.created_ms), []))
