"""Calls about triggers, and about notifications. In the flow: see the package."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...answers.notifications import NotificationList, NotificationRow
from ...answers.triggers import TriggerAnswer, TriggerDeleted, TriggerList
from ..call import V1, Call, given, named


def triggers() -> Call[TriggerList]:
    """All triggers."""
    return Call("GET", f"{V1}/triggers", TriggerList)


def notifications(
    subject: str | None = None, name: str | None = None, item_id: str | None = None, *, taken: bool | None = None
) -> Call[NotificationList]:
    """Notifications that were not taken, with `taken` all; `subject`, `queue` or `trigger`; None: of both."""
    query = given(subject=subject, name=name, item_id=item_id, taken=taken)
    return Call("GET", f"{V1}/notifications", NotificationList, query=query)


def notification(notification: str) -> Call[NotificationRow]:
    """A notification, by its id: how its delivery stands."""
    return Call("GET", named("notifications", notification), NotificationRow)


def send_queue_test(queue: str) -> Call[NotificationRow]:
    """Try the address of a queue, by its name or id; what comes of it, `notification` tells."""
    return Call("POST", f"{named('queues', queue)}/test-notification", NotificationRow)


def send_trigger_test(trigger: str) -> Call[NotificationRow]:
    """Try the address of a trigger, by its name or id; what comes of it, `notification` tells."""
    return Call("POST", f"{named('triggers', trigger)}/test-notification", NotificationRow)


def trigger(trigger: str) -> Call[TriggerAnswer]:
    """A trigger, by its name or id."""
    return Call("GET", named("triggers", trigger), TriggerAnswer)


def create_trigger(name: str, type: str, command: Sequence[str], **fields: Any) -> Call[TriggerAnswer]:
    """Make a trigger; `type`, QUEUE or TIME; `fields`, the others of `NewTrigger`."""
    body = {"name": name, "type": type, "command": list(command), **fields}
    return Call("POST", f"{V1}/triggers", TriggerAnswer, body=body)


def change_trigger(trigger: str, changed: Mapping[str, Any], expected: int | None = None) -> Call[TriggerAnswer]:
    """Change a trigger; `expected`, the revision that was seen; None: whatever it is."""
    match = {"If-Match": "*" if expected is None else f'"{expected}"'}
    return Call("PUT", named("triggers", trigger), TriggerAnswer, body=changed, headers=match)


def delete_trigger(trigger: str) -> Call[TriggerDeleted]:
    """Delete a trigger; what it started goes on."""
    return Call("DELETE", named("triggers", trigger), TriggerDeleted)
