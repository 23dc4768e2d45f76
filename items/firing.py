"""Fires triggers that are due: a firing and its claims, in one transaction.

In the flow: the ledger's leader looks each second, and at once when an item's arrival is told: for triggers that are
due, and for those of queues in which an item can be claimed, however that came to be (`has_come`). The trigger's row is
locked while it fires, and a firing is unique by its key, so of two leaders one finds that there is nothing to do (D42).
Items are taken in the order in which robots take them (D40); what others are at is passed over. They are IN_PROGRESS
from then on without a deadline of a lease, held under the execution's id. Killed before the commit, nothing has
happened; after it, `sending` goes on from the row.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Select, exists, func, insert, or_, select, update

from ..ledger.schema.tables import firings, item_queues, queue_items, triggers
from ..scheduler.events.requested import ITEMS_MAX_BYTES
from ..scheduler.events.schedule import MISSED_AFTER_MS
from ..scheduler.model.cron import Cron
from ..scheduler.model.errors import InvalidRequest
from .bounds import TRIGGERS_A_ROUND
from .failing import note_failure
from .picking import pick
from .queues import queue_in
from .returning import give_back, is_due
from .states import Status
from .trigger import Trigger, TriggerType, event_of, item_json, key_of_firing, trigger_of

Guard = Callable[[Connection], bool]
"""Whether the process still leads, asked in the transaction that writes."""


def live_jobs() -> Any:
    """Return the subquery that counts the executions of a trigger that live."""
    counted = select(func.count()).where(firings.c.trigger_id == triggers.c.trigger_id, firings.c.ended_ms.is_(None))
    return counted.correlate(triggers).scalar_subquery()


def due_triggers(connection: Connection, at_ms: int) -> list[int]:
    """Return the ids of triggers that are due and may start an execution, the longest due first."""
    of = triggers.c
    found = select(of.trigger_id).where(*_is_due(at_ms), live_jobs() < of.max_jobs)
    return list(connection.execute(found.order_by(of.next_fire_ms).limit(TRIGGERS_A_ROUND)).scalars())


def has_come(at_ms: int) -> Select[Any]:
    """Return the query for triggers that are not due, and whose queues have an item that can be claimed.

    It may be new, put back, tried again or due, or its lease has ended: whoever did it told nobody, or the clock did.
    """
    of, item = triggers.c, queue_items.c
    is_new = exists().where(item.queue_id == of.queue_id, item.status == Status.NEW)
    is_there = or_(is_new, is_due(of.queue_id, at_ms))
    of_queue = select(of.trigger_id).join_from(triggers, item_queues)
    return of_queue.where(of.enabled, of.next_fire_ms > at_ms, item_queues.c.is_active, is_there)


def make_due(connection: Connection, at_ms: int) -> int:
    """Let the triggers look at once for which an item has come; how many."""
    come = update(triggers).where(triggers.c.trigger_id.in_(has_come(at_ms)))
    return connection.execute(come.values(next_fire_ms=at_ms)).rowcount


def fire(connection: Connection, trigger_id: int, at_ms: int, leads: Guard) -> str | None:
    """Fire a trigger, if it is due.

    Args:
        connection: Of a transaction that writes.
        trigger_id: Which.
        at_ms: The database's time.
        leads: Whether this process still leads.

    Returns:
        The id of the execution that is to be sent; None: there is none.
    """
    if not leads(connection):
        return None
    locked: Select[Any] = select(triggers).where(triggers.c.trigger_id == trigger_id, *_is_due(at_ms))
    row = connection.execute(locked.with_for_update(skip_locked=True)).one_or_none()
    if row is None:
        return None
    trigger = trigger_of(row)
    lives = select(func.count()).where(firings.c.trigger_id == trigger_id, firings.c.ended_ms.is_(None))
    if connection.execute(lives).scalar_one() >= trigger.max_jobs:
        return None
    return (_fire_in_time if trigger.type is TriggerType.TIME else _fire_for_items)(connection, trigger, at_ms)


def next_of(cron: str | None, tz: str, after_ms: int) -> int | None:
    """Return the next time of a line of cron after a moment; None: there is none."""
    return None if cron is None else next(Cron(cron, tz).after(after_ms), None)


def _fire_in_time(connection: Connection, trigger: Trigger, at_ms: int) -> str | None:
    due_ms = trigger.next_fire_ms
    assert due_ms is not None
    later_ms = next_of(trigger.cron, trigger.tz, max(due_ms, at_ms - MISSED_AFTER_MS))
    if due_ms < at_ms - MISSED_AFTER_MS or _has_fired(connection, trigger, due_ms):
        # As of a schedule: what could not be started in time is left out. A clock that was set back comes to a time
        # again that was started before.
        _move(connection, trigger, next_fire_ms=later_ms)
        return None
    return _written(connection, trigger, due_ms, [], at_ms, next_fire_ms=later_ms)


def _has_fired(connection: Connection, trigger: Trigger, due_ms: int) -> bool:
    of = firings.c
    fired = select(of.key).where(of.trigger_id == trigger.trigger_id, of.key == key_of_firing(trigger, due_ms))
    return connection.execute(fired).first() is not None


def _fire_for_items(connection: Connection, trigger: Trigger, at_ms: int) -> str | None:
    look_ms = at_ms + trigger.polling_interval * 1000
    assert trigger.queue_id is not None
    is_active = queue_in(connection, trigger.queue_id, shares=True).is_active
    rows, has_more = _claimable(connection, trigger, at_ms) if is_active else ([], False)
    if not rows:
        _move(connection, trigger, next_fire_ms=look_ms)
        return None
    # Where there may be more, it goes on as soon as another execution may live.
    next_ms = at_ms if has_more else look_ms
    last = {"next_fire_ms": next_ms, "last_processed_item_id": rows[-1].item_id}
    return _written(connection, trigger, at_ms, rows, at_ms, **last)


def _claimable(connection: Connection, trigger: Trigger, at_ms: int) -> tuple[list[Any], bool]:
    """The items of one execution, as many as can be told to its program, one at least; whether there may be more."""
    assert trigger.queue_id is not None
    give_back(connection, trigger.queue_id, at_ms)
    rows = list[Any]()
    size = 0
    for row in pick(connection, trigger.queue_id, trigger.batch_size):
        size += len(item_json(row)) + 1
        if rows and size > ITEMS_MAX_BYTES:
            return rows, True
        rows.append(row)
    return rows, len(rows) == trigger.batch_size


def _written(
    connection: Connection, trigger: Trigger, instant_ms: int, rows: list[Any], at_ms: int, **moved: Any
) -> str | None:
    """The firing of a trigger, with its claims; the execution's id."""
    key = key_of_firing(trigger, instant_ms)
    try:
        event = event_of(trigger, key, rows)
    except InvalidRequest as error:
        note_failure(connection, trigger.trigger_id, str(error), at_ms)
        return None
    connection.execute(
        insert(firings).values(
            execution_id=event.execution_id,
            trigger_id=trigger.trigger_id,
            key=key,
            queue_id=trigger.queue_id,
            event=event.to_json().decode(),
            created_ms=at_ms,
            again_ms=0,
        )
    )
    if rows:
        of = queue_items.c
        connection.execute(
            update(queue_items)
            .where(of.item_id.in_([row.item_id for row in rows]))
            .values(
                status=Status.IN_PROGRESS,
                job_id=event.execution_id,
                locked_by_robot_id=event.execution_id,
                locked_at_ms=at_ms,
                locked_until_ms=None,
                fence=of.fence + 1,
                claim_key=None,
                progress=None,
                revision=of.revision + 1,
                updated_ms=at_ms,
            )
        )
    _move(connection, trigger, sequence=trigger.sequence + 1, last_fired_ms=at_ms, **moved)
    return event.execution_id


def _move(connection: Connection, trigger: Trigger, **columns: Any) -> None:
    connection.execute(update(triggers).where(triggers.c.trigger_id == trigger.trigger_id).values(columns))


def _is_due(at_ms: int) -> tuple[Any, ...]:
    of = triggers.c
    return of.enabled, of.next_fire_ms <= at_ms, or_(of.backoff_ms.is_(None), of.backoff_ms <= at_ms)
