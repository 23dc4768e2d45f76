"""``ApiTriggers`` and ``ApiNotifications``: triggers and what is told of them, through the admin API.

In the flow: one side of `item_port`, as far as the token allows. Who did it is the token's owner.
"""

from collections.abc import Mapping
from typing import Any

from bandmaster.admin.answers.notifications import NotificationList, NotificationRow
from bandmaster.admin.answers.triggers import TriggerAnswer, TriggerDeleted
from bandmaster.admin.client import calls
from bandmaster.admin.client.blocking import Client
from bandmaster.items.notifying.subject import Subject


class ApiTriggers:
    """Triggers that an API offers. Every method raises ApiProblem and ApiUnavailable."""

    def __init__(self, client: Client) -> None:
        self._send = client.send

    def all(self) -> list[TriggerAnswer]:
        """All, by name."""
        return self._send(calls.triggers()).triggers

    def one(self, name: str) -> TriggerAnswer:
        """One."""
        return self._send(calls.trigger(name))

    def create(self, name: str, kind: str, fields: Mapping[str, Any]) -> TriggerAnswer:
        """Make one; `kind`, QUEUE or TIME."""
        return self._send(calls.create_trigger(name, kind, **fields))

    def change(self, name: str, changed: Mapping[str, Any]) -> TriggerAnswer:
        """Change one, whatever was seen of it."""
        return self._send(calls.change_trigger(name, changed))

    def delete(self, name: str) -> TriggerDeleted:
        """Delete one; what it started goes on."""
        return self._send(calls.delete_trigger(name))


class ApiNotifications:
    """Notifications that an API offers. Every method raises ApiProblem and ApiUnavailable."""

    def __init__(self, client: Client) -> None:
        self._send = client.send

    def undelivered(self, subject: Subject | None, name: str | None) -> NotificationList:
        """Those that were not taken, of all or of one queue or trigger."""
        return self._send(calls.notifications(None if subject is None else subject.value, name))

    def send_test(self, subject: Subject, name: str) -> NotificationRow:
        """Try an address."""
        call = calls.send_queue_test if subject is Subject.QUEUE else calls.send_trigger_test
        return self._send(call(name))

    def one(self, notification_id: str) -> NotificationRow:
        """One, and how its delivery stands."""
        return self._send(calls.notification(notification_id))
