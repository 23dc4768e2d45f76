"""``Triggers``: made, changed, deleted and found.

In the flow: admins make them; the ledger's process fires them (`trigger_rounds`). Each change is one transaction
with its line in the audit. A trigger that is deleted starts nothing more; what it started goes on, and its items are
settled all the same. What is changed applies to the firings from then on.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Connection, Select, delete, insert, select, update

from ..configs.notify import NotifySettings
from ..ledger.errors import RowsTaken
from ..ledger.schema.tables import firings, triggers
from ..scheduler.model.priority import Priority
from .changes import Verb, differences, note_change
from .errors import ItemChanged, TriggerNameTaken, TriggerUnknown
from .firing import live_jobs, next_of
from .notifying.address import NOTIFY_URL, check_address, shown_address
from .started import latest_started
from .store import Store, now_of
from .trigger import Trigger, TriggerType, trigger_of
from .trigger_checks import DEFAULTS, check_fit, check_runs, check_values

_SHOWN: Final = (
    *("name", "type", "queue_id", "batch_size", "polling_interval", "enabled", "max_jobs", "cron", "tz", "image"),
    *("action", "user_id", "priority", "timeout_seconds"),
)
LATEST_LISTED: Final = 1
LATEST_SHOWN: Final = 10
_MOVES_TIME: Final = ("cron", "tz", "enabled", "queue_id", "polling_interval")


class Triggers:
    """The triggers of one ledger. Safe to share between threads. Each method raises LedgerError if the database does
    not answer."""

    def __init__(self, store: Store, notify: NotifySettings) -> None:
        """Makes no connection. `notify` judges addresses."""
        self._store = store
        self._notify = notify

    def all(self) -> list[Trigger]:
        """Return all triggers, by name, each with the `LATEST_LISTED` executions that it started last."""

        def read(connection: Connection) -> list[Trigger]:
            latest = latest_started(connection, LATEST_LISTED)
            rows = connection.execute(_found().order_by(triggers.c.name))
            return [replace(each, latest=tuple(latest.get(each.trigger_id, ()))) for each in map(trigger_of, rows)]

        return self._store.read(read)

    def find(self, trigger: str | int) -> Trigger:
        """Return a trigger, by its name or its id, with the `LATEST_SHOWN` executions that it started last.

        Raises:
            TriggerUnknown: If there is none.
        """
        return self._store.read(lambda connection: _shown_in(connection, trigger))

    def create(self, name: str, *, type: TriggerType, command: tuple[str, ...], by: str, **fields: Any) -> Trigger:
        """Make a trigger.

        Args:
            name: Its name, which no other has.
            type: QUEUE or TIME.
            command: What its executions run.
            by: Who asks, for the audit.
            fields: The other fields of `Trigger`; `DEFAULTS` has what is left out.

        Raises:
            TriggerNameTaken: If another has the name.
            QueueUnknown: If there is no such queue.
            InvalidRequest: If a field is not allowed, or does not fit the type.
            PodRejected: If no pod could run it.
        """
        check_address(fields, self._notify)
        values = {**DEFAULTS, **fields, "name": name, "type": type, "command": command}
        check_values(values)

        def work(connection: Connection) -> Trigger:
            at_ms = now_of(connection)
            if connection.execute(select(triggers.c.trigger_id).where(triggers.c.name == name)).first():
                raise TriggerNameTaken(name)
            check_fit(connection, values)
            standing = {"sequence": 0, "failures": 0, "revision": 1, "created_ms": at_ms, "updated_ms": at_ms}
            standing |= {"external_id": str(uuid4()), "next_fire_ms": _next_ms(values, at_ms)}
            row = connection.execute(insert(triggers).values(_columns(values) | standing).returning(triggers)).one()
            made = trigger_of(row)
            check_runs(made)
            text = "; ".join(f"{field} {value}" for field, value in _shown(made).items())
            note_change(connection, Verb.CREATE_TRIGGER, subject_of(name), None, text, by=by, at_ms=at_ms)
            return made

        try:
            return self._store.write(work)
        except RowsTaken:
            # Another transaction was quicker.
            raise TriggerNameTaken(name) from None

    def change(self, trigger: str | int, changed: Mapping[str, Any], *, by: str, revision: int | None) -> Trigger:
        """Change a trigger; one that backs off is tried at once.

        Args:
            trigger: Its name, or its id.
            changed: The fields that are to have other values; its type stays.
            by: Who asks, for the audit.
            revision: The one that the caller saw; None: any.

        Raises:
            TriggerUnknown: If there is none.
            ItemChanged: If it was changed meanwhile.
            TriggerNameTaken: If another has the name.
            QueueUnknown: If there is no such queue.
            InvalidRequest: If a field is not allowed, or does not fit the type.
        """

        check_address(changed, self._notify)

        def work(connection: Connection) -> Trigger:
            before = _trigger_in(connection, trigger, locks=True)
            if revision is not None and revision != before.revision:
                raise ItemChanged(f"trigger {before.name!r}")
            at_ms = now_of(connection)
            values = {name: getattr(before, name) for name in (*_SHOWN, "command", NOTIFY_URL)} | dict(changed)
            check_values(values)
            check_fit(connection, values)
            columns = _columns(values) | {"revision": before.revision + 1, "updated_ms": at_ms}
            columns |= {"failures": 0, "backoff_ms": None, "last_error": None}
            if _moves_time(before, values, at_ms):
                columns["next_fire_ms"] = _next_ms(values, at_ms)
            # What was put off is tried at once as well.
            waits = update(firings).where(firings.c.trigger_id == before.trigger_id, firings.c.ended_ms.is_(None))
            connection.execute(waits.where(firings.c.sent_ms.is_(None)).values(again_ms=0))
            of_it = update(triggers).where(triggers.c.trigger_id == before.trigger_id)
            connection.execute(of_it.values(columns))
            after = _shown_in(connection, before.trigger_id)
            check_runs(after)
            said = differences(_shown(before), _shown(after))
            new = ("command", "another command") if after.command != before.command else ("", "")
            texts = ["; ".join(filter(None, pair)) for pair in zip(said, new, strict=True)]
            subject = subject_of(before.name)
            note_change(connection, Verb.CHANGE_TRIGGER, subject, texts[0], texts[1], by=by, at_ms=at_ms)
            return after

        try:
            return self._store.write(work)
        except RowsTaken:
            raise TriggerNameTaken(str(changed.get("name"))) from None

    def delete(self, trigger: str | int, *, by: str) -> Trigger:
        """Delete a trigger; what it started goes on.

        Raises:
            TriggerUnknown: If there is none.
        """

        def work(connection: Connection) -> Trigger:
            found = _trigger_in(connection, trigger, locks=True)
            connection.execute(delete(triggers).where(triggers.c.trigger_id == found.trigger_id))
            text = "; ".join(f"{field} {value}" for field, value in _shown(found).items())
            at_ms = now_of(connection)
            note_change(connection, Verb.DELETE_TRIGGER, subject_of(found.name), text, None, by=by, at_ms=at_ms)
            return found

        return self._store.write(work)


def subject_of(name: str) -> str:
    """Return what a trigger is called in the audit."""
    return f"trigger:{name}"


def _found() -> Select[Any]:
    return select(triggers, live_jobs().label("live_jobs"))


def _trigger_in(connection: Connection, trigger: str | int, *, locks: bool = False) -> Trigger:
    column = triggers.c.trigger_id if isinstance(trigger, int) else triggers.c.name
    query = _found().where(column == trigger)
    row = connection.execute(query.with_for_update() if locks else query).one_or_none()
    if row is None:
        raise TriggerUnknown(trigger)
    return trigger_of(row)


def _shown_in(connection: Connection, trigger: str | int) -> Trigger:
    found = _trigger_in(connection, trigger)
    latest = latest_started(connection, LATEST_SHOWN, found.trigger_id)
    return replace(found, latest=tuple(latest.get(found.trigger_id, ())))


def _next_ms(values: Mapping[str, Any], at_ms: int) -> int | None:
    return at_ms if values["type"] is TriggerType.QUEUE else next_of(values["cron"], values["tz"], at_ms)


def _moves_time(before: Trigger, values: Mapping[str, Any], at_ms: int) -> bool:
    """Whether it fires next at another time; one that has come and is not started yet stays, or it would be lost."""
    due_ms, stays_enabled = before.next_fire_ms, before.enabled and values["enabled"]
    is_due = stays_enabled and due_ms is not None and due_ms <= at_ms
    has_come = before.type is TriggerType.TIME and is_due
    return not has_come and any(values[name] != getattr(before, name) for name in _MOVES_TIME)


def _columns(values: Mapping[str, Any]) -> dict[str, Any]:
    command, priority = json.dumps(list(values["command"])), Priority.parse(values["priority"]).name
    return {**values, "type": values["type"].value, "command": command, "priority": priority}


def _shown(trigger: Trigger) -> dict[str, object]:
    shown: dict[str, object] = {name: getattr(trigger, name) for name in _SHOWN}
    return shown | {NOTIFY_URL: shown_address(trigger.notify_url)}
