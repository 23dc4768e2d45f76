"""Forgets a user's items where they were copied to: firings, executions of triggers, and notifications.

In the flow: forgetting a user calls it before its items themselves, by which it knows whose they are. A page is a
transaction; if the process dies, the command is run again and does what is left. What Redis keeps of executions of
triggers goes there by itself, within a day of their end.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Column, Connection, Table, func, select, update

from ..scheduler.model.item_tokens import OF_TRIGGERS
from .asked import are_asked_by
from .database import Database
from .schema.tables import firings, notifications, payloads, queue_items

_A_PAGE: Final = 500


def forget_copies(database: Database, user_id: str, pseudonym: str) -> None:
    """Take a user's payloads out of copies, and its name.

    Args:
        database: The ledger's.
        user_id: The user.
        pseudonym: What it is called from then on.

    Raises:
        LedgerUnavailable: If the database does not answer.
    """
    for table in (firings, payloads):
        _each_page(database, table, table.c.execution_id, user_id, pseudonym)
    _rename_robot(database, user_id, pseudonym)


def _each_page(database: Database, table: Table, key: Column[str], user_id: str, pseudonym: str) -> None:
    after = ""
    while True:
        with database.overwriting() as connection:
            of = table.c
            is_of_trigger = func.substr(key, 1, len(OF_TRIGGERS)) == OF_TRIGGERS
            page = select(key, of.event).where(key > after, is_of_trigger, of.event.is_not(None)).order_by(key)
            rows = connection.execute(page.limit(_A_PAGE).with_for_update()).all()
            if not rows:
                return
            after = rows[-1][0]
            events = {execution_id: json.loads(event) for execution_id, event in rows}
            users = _items_of(connection, [each for event in events.values() for each in _ids_in(event)], user_id)
            for execution_id, event in events.items():
                if _strip(event, users, user_id, pseudonym):
                    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
                    changed = text.encode() if table is payloads else text
                    connection.execute(update(table).where(key == execution_id).values(event=changed))


def _items_of(connection: Connection, item_ids: Sequence[str], user_id: str) -> frozenset[str]:
    """Those of some items that a user added."""
    of = queue_items.c
    found = list[str]()
    for begin in range(0, len(item_ids), _A_PAGE):
        some = select(of.item_id).where(of.item_id.in_(item_ids[begin : begin + _A_PAGE]))
        found += connection.execute(some.where(are_asked_by(of.created_by, user_id))).scalars()
    return frozenset(found)


def _ids_in(event: Any) -> list[str]:
    return [item["id"] for item in json.loads(event.get("items") or "[]")]


def _strip(event: Any, users: frozenset[str], user_id: str, pseudonym: str) -> bool:
    """Take what is the user's out of an event; whether there was something."""
    is_changed = False
    items = json.loads(event.get("items") or "[]")
    for item in items:
        if item["id"] in users and "payload" in item:
            del item["payload"]
            is_changed = True
    if is_changed:
        event["items"] = json.dumps(items, separators=(",", ":"))
    metadata: dict[str, Any] = event.get("metadata") or {}
    if metadata.get("user_id") == user_id:
        metadata["user_id"] = pseudonym
        is_changed = True
    return is_changed


def _rename_robot(database: Database, user_id: str, pseudonym: str) -> None:
    """Rename a robot in what is told of items that it held."""
    of = notifications.c
    said, says = (f'"robot_id":{json.dumps(name, ensure_ascii=False)}' for name in (user_id, pseudonym))
    after = ""
    while True:
        with database.overwriting() as connection:
            page = select(of.delivery_id).where(of.delivery_id > after).order_by(of.delivery_id).limit(_A_PAGE)
            ids = connection.execute(page).scalars().all()
            if not ids:
                return
            # Not LIKE, for which SQLite takes "A" and "a" for the same.
            is_named = func.replace(of.body, said, "") != of.body
            named = update(notifications).where(of.delivery_id > after, of.delivery_id <= ids[-1], is_named)
            connection.execute(named.values(body=func.replace(of.body, said, says)))
            after = ids[-1]
