"""``LedgerTriggers`` and ``LedgerNotifications``: triggers and what is told of them, beside the ledger's database.

In the flow: one side of `item_port`. The ledger's process fires triggers and sends notifications, tests as well. Each
change is in the audit under the user's name and host.
"""

from collections.abc import Mapping
from typing import Any

from bandmaster.admin.answers.notifications import NotificationList, NotificationRow
from bandmaster.admin.answers.triggers import TriggerAnswer, TriggerDeleted
from bandmaster.admin.api.moments import shown_at
from bandmaster.admin.api.notifications import notification_list, notification_row
from bandmaster.admin.api.trigger_requests import trigger_answer
from bandmaster.items.notifying.listing import Sought, find_notification, undelivered
from bandmaster.items.notifying.subject import Subject
from bandmaster.items.opened import Items as OpenItems
from bandmaster.items.store import now_of
from bandmaster.items.trigger import Trigger, TriggerType
from bandmaster.scheduler.model.operators import user_at_host
from bandmaster.scheduler.model.priority import Priority


class LedgerTriggers:
    """Triggers of one database. Every method raises LedgerError if it does not answer."""

    def __init__(self, items: OpenItems) -> None:
        self._triggers = items.triggers

    def all(self) -> list[TriggerAnswer]:
        """All, by name."""
        return [_shown(each) for each in self._triggers.all()]

    def one(self, name: str) -> TriggerAnswer:
        """One; raises TriggerUnknown, as do the others that name one."""
        return _shown(self._triggers.find(name))

    def create(self, name: str, kind: str, fields: Mapping[str, Any]) -> TriggerAnswer:
        """Make one; raises TriggerNameTaken."""
        return _shown(self._triggers.create(name, type=TriggerType(kind), by=user_at_host(), **_typed(fields)))

    def change(self, name: str, changed: Mapping[str, Any]) -> TriggerAnswer:
        """Change one."""
        return _shown(self._triggers.change(name, _typed(changed), by=user_at_host(), revision=None))

    def delete(self, name: str) -> TriggerDeleted:
        """Delete one; what it started goes on."""
        found = self._triggers.delete(name, by=user_at_host())
        return TriggerDeleted(name=found.name, live_jobs=found.live_jobs)


class LedgerNotifications:
    """Notifications of one database. Every method raises LedgerError if it does not answer."""

    def __init__(self, items: OpenItems) -> None:
        self._items = items

    def undelivered(self, subject: Subject | None, name: str | None) -> NotificationList:
        """Those that were not taken, of all or of one queue or trigger."""
        store = self._items.store
        found = undelivered(store, Sought(None if subject is None else subject.value, name))
        return notification_list(found, shown_at(store.read(now_of)))

    def send_test(self, subject: Subject, name: str) -> NotificationRow:
        """Try an address; raises InvalidRequest if there is none."""
        testing, by = self._items.testing, user_at_host()
        if subject is Subject.QUEUE:
            return self.one(testing.of_queue(self._items.queues.find(name), by=by))
        return self.one(testing.of_trigger(self._items.triggers.find(name), by=by))

    def one(self, notification_id: str) -> NotificationRow:
        """One, and how its delivery stands."""
        return notification_row(find_notification(self._items.store, notification_id))


def _shown(trigger: Trigger) -> TriggerAnswer:
    return trigger_answer(trigger, tells_all=True)


def _typed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as the API has them, in the types that triggers have."""
    typed = dict(fields)
    if "priority" in typed:
        typed["priority"] = Priority[typed["priority"]]
    if "command" in typed:
        typed["command"] = tuple(typed["command"])
    return typed
