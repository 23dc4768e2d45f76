"""Deletes items that ended long ago, and forgets who added or held some: a page a transaction.

In the flow: retention calls it between the pages of the journal, forgetting a user between those of executions. What
has not ended is never touched. If the process dies, the next page goes on: what is done is done.
"""

from typing import Final

from sqlalchemy import Connection, and_, delete, func, or_, select, tuple_, update

from .asked import are_asked_by
from .database import Database
from .item_copies import forget_copies
from .schema.tables import firings, item_changes, notifications, queue_items, tokens, triggers

ROWS_A_PAGE: Final = 500
_FORGOTTEN_A_PAGE: Final = 5_000


def delete_ended_items(connection: Connection, before_ms: int) -> int:
    """Delete a page of items that ended before a time; how many."""
    of = queue_items.c
    old = select(of.item_id).where(of.ended_ms < before_ms).order_by(of.ended_ms).limit(ROWS_A_PAGE)
    return connection.execute(delete(queue_items).where(of.item_id.in_(old))).rowcount


def delete_ended_firings(connection: Connection, before_ms: int) -> int:
    """Delete a page of firings of triggers that ended before a time; how many."""
    of = firings.c
    old = select(of.execution_id).where(of.ended_ms < before_ms).order_by(of.ended_ms).limit(ROWS_A_PAGE)
    return connection.execute(delete(firings).where(of.execution_id.in_(old))).rowcount


def delete_item_changes(connection: Connection, before_ms: int) -> int:
    """Delete a page of what people changed before a time; how many."""
    of = item_changes.c
    old = select(of.change_id).where(of.at_ms < before_ms).order_by(of.at_ms).limit(ROWS_A_PAGE)
    return connection.execute(delete(item_changes).where(of.change_id.in_(old))).rowcount


def empty_ended_items(connection: Connection, before_ms: int, after: tuple[int, str]) -> tuple[int, tuple[int, str]]:
    """Delete payloads and results of a page of items that ended before a time.

    Args:
        connection: Of a transaction that writes.
        before_ms: The time.
        after: The end and the id of the last item that was looked at.

    Returns:
        How many items the page had, and the last of them.
    """
    of = queue_items.c
    found = select(of.ended_ms, of.item_id).where(
        of.ended_ms < before_ms, tuple_(of.ended_ms, of.item_id) > tuple_(*after)
    )
    rows = connection.execute(found.order_by(of.ended_ms, of.item_id).limit(ROWS_A_PAGE)).all()
    if not rows:
        return 0, after
    emptied = update(queue_items).where(of.item_id.in_([row.item_id for row in rows]))
    connection.execute(emptied.values(payload=None, result=None))
    return len(rows), (rows[-1].ended_ms, rows[-1].item_id)


def living_items_of(connection: Connection, user_id: str) -> int:
    """Count the items that a user added and that have not ended, or that it holds as a robot."""
    of = queue_items.c
    is_of_user = or_(are_asked_by(of.created_by, user_id), of.locked_by_robot_id == user_id)
    return connection.execute(select(func.count()).where(of.ended_ms.is_(None), is_of_user)).scalar_one()


def forget_items(database: Database, user_id: str, pseudonym: str) -> int:
    """Forget a user's items: payloads and results go, the rest stays under a pseudonym; how many those were.

    Args:
        database: The ledger's.
        user_id: Who added them, or, as a robot, ended them.
        pseudonym: What it is called from then on.

    Raises:
        LedgerUnavailable: If the database does not answer.
    """
    forget_copies(database, user_id, pseudonym)
    of = queue_items.c
    after, forgotten = "", 0
    while True:
        with database.overwriting() as connection:
            page = select(of.item_id).where(of.item_id > after).order_by(of.item_id).limit(_FORGOTTEN_A_PAGE)
            ids = list(connection.execute(page).scalars())
            if not ids:
                break
            is_of_page = and_(of.item_id > after, of.item_id <= ids[-1])
            is_by_user = are_asked_by(of.created_by, user_id)
            # What is still to be told of them has their reference and why they failed.
            told = select(of.item_id).where(is_of_page, is_by_user)
            connection.execute(delete(notifications).where(notifications.c.item_id.in_(told)))
            emptied = update(queue_items).where(is_of_page, is_by_user, of.ended_ms.is_not(None))
            forgotten += connection.execute(
                emptied.values(payload=None, result=None, error_message=None, progress=None)
            ).rowcount
            connection.execute(update(queue_items).where(is_of_page, is_by_user).values(created_by=pseudonym))
            held = update(queue_items).where(is_of_page, of.locked_by_robot_id == user_id)
            connection.execute(held.values(locked_by_robot_id=pseudonym))
            after = ids[-1]
    with database.writing() as connection:
        connection.execute(update(tokens).where(tokens.c.robot_id == user_id).values(robot_id=pseudonym))
        connection.execute(update(triggers).where(triggers.c.user_id == user_id).values(user_id=pseudonym))
    return forgotten
