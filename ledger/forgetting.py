"""Forgets a user: payloads and results go, history and audit keep what happened under a pseudonym.

In the flow: ``bandmaster ledger forget``. First the ledger has to have read all that the journal tells of the user, so
that nothing comes later under the old name; then Redis is cleared, and the journal tells that it was; when the ledger
has read that, too, SQL is changed, a page a transaction; at last the user's entries of the journal go, all of which
have been read. If the process dies anywhere, the command is run again: it finds what is left, and gives it another
pseudonym. What has not ended is left alone: what the user sends meanwhile is forgotten by the next run.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, Connection, delete, func, select, update

from ..scheduler.engine.engine import Engine
from ..scheduler.engine.erasing import Erasing
from ..scheduler.engine.journal import JournalEntry
from ..scheduler.engine.journal_following import Follower
from ..scheduler.engine.shares import WEIGHT
from ..scheduler.model.identifiers import check_user_id
from ..scheduler.model.states import TERMINAL
from .asked import are_asked_by, is_asked_by
from .database import Database, now_ms
from .errors import JournalUnread, UserHasItems, UserHasSchedules, UserHasWork
from .items_kept import forget_items, living_items_of
from .schedules_kept import forget_schedules, is_of_schedule, schedules_of
from .schema.tables import (
    changes,
    consumer,
    executions,
    holds,
    item_changes,
    payloads,
    results,
    tokens,
    transitions,
)
from .standing import check_queue, read_up_to
from .waits.sums import rename_user

PAGE: Final = 500
LOOK_SECONDS: Final = 0.1
WAIT_SECONDS: Final = 60.0
"""How long the ledger may read nothing, although there is something."""
_PREFIX: Final = "forgotten-"
_HAS_ENDED: Final = executions.c.state.in_(TERMINAL) | executions.c.lost_ms.is_not(None)
_CHANGED_BY: Final[tuple[Column[Any], ...]] = (
    *(transitions.c.changed_by, changes.c.changed_by),
    item_changes.c.changed_by,
    *(tokens.c.created_by, tokens.c.revoked_by),
)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was done."""

    pseudonym: str
    executions: int
    """In the history."""
    erased: int
    """Of which Redis still had something."""
    struck: int
    """Entries of the journal that were deleted."""
    tokens: int
    """Revoked."""
    items: int
    """Of queues, that the user had added: their payloads and results are gone."""
    left: int
    """Executions that came meanwhile, and were left alone."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a user."""

    executions: int
    living: int
    tokens: int


def known_of(connection: Connection, user_id: str) -> Known:
    """Count what the ledger knows of a user."""
    of_user = select(func.count()).where(executions.c.user_id == user_id)
    living = of_user.where(~_HAS_ENDED)
    owned = select(func.count()).where(tokens.c.owner == user_id)
    counts = [connection.execute(each).scalar_one() for each in (of_user, living, owned)]
    return Known(*counts)


def forget(
    queue: Engine,
    database: Database,
    user_id: str,
    *,
    by: str,
    say: Callable[[str], None] = lambda _: None,
    wait_seconds: float = WAIT_SECONDS,
) -> Forgotten:
    """Forget a user whose work has ended.

    Args:
        queue: The queue.
        database: Its ledger.
        user_id: The user.
        by: Who asks.
        say: Is told of each step.
        wait_seconds: How long the ledger's process may read nothing although there is something to read.

    Raises:
        InvalidRequest: If it cannot be a user.
        UserHasWork: If executions of it have not ended. Nothing was changed.
        UserHasItems: Likewise, if items that it added, or holds as a robot, have not ended.
        UserHasSchedules: Likewise, if there are schedules that run as it.
        JournalUnread: If the ledger's process does not read the journal. If it happens at first, nothing was changed.
        AnotherQueue: If the ledger is that of another queue.
        LedgerUnavailable: If the database does not answer, and QueueUnavailable, if Redis does not.
    """
    check_user_id(user_id)
    say("waiting until the ledger has read the journal")
    catch_up(queue, database, wait_seconds=wait_seconds)
    with database.reading() as connection:
        check_queue(connection, queue.scripts.keys.prefix)
        living = known_of(connection, user_id).living
        living_items = living_items_of(connection, user_id)
    if living:
        raise UserHasWork(user_id, living)
    if living_items:
        raise UserHasItems(user_id, living_items)
    if schedules := schedules_of(queue, user_id):
        raise UserHasSchedules(user_id, schedules)

    pseudonym, gate = f"{_PREFIX}{secrets.token_hex(6)}", f"user:{user_id}"
    by = pseudonym if is_asked_by(by, user_id) else by
    erasing = Erasing(queue.scripts)
    say("clearing Redis")
    revoked = _revoke(database, user_id, by=by)
    _lift(queue, gate, by=by)
    erasing.forget_gate(gate)
    erased = sum(erasing.erase(user_id, pseudonym, page, by=by) for page in _ids(database, user_id))
    # One more, so that there is an entry behind all that names the user; the ledger's position will not be before it.
    erasing.erase(user_id, pseudonym, [], by=by)
    told = f"user:{pseudonym}"
    latest = queue.journal.entries(newest_first=True)
    until = next(entry.entry_id for entry in latest if entry.fields.get("name") == told)
    catch_up(queue, database, wait_seconds=wait_seconds)

    say("changing the history")
    changed = 0
    while page := _change_page(database, user_id, pseudonym):
        changed += page
    _change_rest(database, user_id, pseudonym)
    forget_schedules(database, user_id, pseudonym, schedules_of(queue, user_id))
    forgotten_items = forget_items(database, user_id, pseudonym)

    def is_of_user(entry: JournalEntry) -> bool:
        fields = entry.fields
        named = (
            fields.get("user") == user_id
            or fields.get("name") in (gate, WEIGHT + gate)
            or is_of_schedule(entry, user_id)
        )
        return named or is_asked_by(fields.get("by", ""), user_id)

    say("striking the journal")
    struck = erasing.strike(is_of_user, until)
    with database.reading() as connection:
        left = known_of(connection, user_id).executions
    _empty_log(database)
    return Forgotten(pseudonym, changed, erased, struck, revoked, forgotten_items, left)


def _lift(queue: Engine, gate: str, *, by: str) -> None:
    """Take back all that operators set for the user's own gate."""
    if gate in queue.controls.limits():
        queue.controls.set_limit(gate, None, by=by)
    if gate in queue.controls.rates.by_whom().by_operators:
        queue.controls.rates.set(gate, None, by=by)
    if gate in queue.shares.weights():
        queue.shares.weigh(gate, None, by=by)
    queue.controls.resume(gate, by=by)


def catch_up(queue: Engine, database: Database, *, wait_seconds: float = WAIT_SECONDS) -> str:
    """Wait until the ledger's process has read the journal up to where it ends now; the id of the entry there.

    Raises:
        JournalUnread: If it has read nothing for `wait_seconds`.
    """
    end = Follower(queue.scripts).end()
    read, since = -1, time.monotonic()
    while True:
        with database.reading() as connection:
            check_queue(connection, queue.scripts.keys.prefix)
            position = read_up_to(connection)
        is_followed = position is not None and position.incarnation == end.incarnation
        count = position.count if position is not None and is_followed else 0
        if is_followed and count >= end.count:
            return end.entry_id
        if count > read:
            read, since = count, time.monotonic()
        elif time.monotonic() - since >= wait_seconds:
            raise JournalUnread(end.count - count)
        time.sleep(LOOK_SECONDS)


def _ids(database: Database, user_id: str) -> Iterator[list[str]]:
    """The user's executions that have ended, in pages."""
    after = ""
    while True:
        of_user = select(executions.c.execution_id).where(
            executions.c.user_id == user_id, executions.c.execution_id > after, _HAS_ENDED
        )
        with database.reading() as connection:
            page = list(connection.execute(of_user.order_by(executions.c.execution_id).limit(PAGE)).scalars())
        if not page:
            return
        after = page[-1]
        yield page


def _change_page(database: Database, user_id: str, pseudonym: str) -> int:
    """Change what is known of some executions; how many. Whether they have ended is asked in the same transaction."""
    with database.overwriting() as connection:
        of_user = select(executions.c.execution_id).where(executions.c.user_id == user_id, _HAS_ENDED)
        ids = list(connection.execute(of_user.limit(PAGE).with_for_update()).scalars())
        for table in (payloads, results):
            connection.execute(delete(table).where(table.c.execution_id.in_(ids)))
        renamed = update(holds).where(holds.c.execution_id.in_(ids), holds.c.gate == f"user:{user_id}")
        connection.execute(renamed.values(gate=f"user:{pseudonym}"))
        # A dead letter without what it would run is none.
        changed = update(executions).where(executions.c.execution_id.in_(ids))
        connection.execute(changed.values(user_id=pseudonym, dead=False))
    return len(ids)


def _revoke(database: Database, user_id: str, *, by: str) -> int:
    """Revoke the user's tokens, so that it sends nothing more; how many it has."""
    of_user = update(tokens).where(tokens.c.owner == user_id)
    with database.writing() as connection:
        connection.execute(of_user.where(tokens.c.revoked_ms.is_(None)).values(revoked_ms=now_ms(), revoked_by=by))
        return connection.execute(select(func.count()).where(tokens.c.owner == user_id)).scalar_one()


def _change_rest(database: Database, user_id: str, pseudonym: str) -> None:
    """Change what names the user otherwise."""
    with database.overwriting() as connection:
        # Whoever sums waits does so while it holds this row: what it wrote by the old name is here then.
        connection.execute(select(consumer.c.consumer_id).with_for_update())
        gate, other = f"user:{user_id}", f"user:{pseudonym}"
        rename_user(connection, user_id, pseudonym)
        for before in ("", WEIGHT):
            connection.execute(update(changes).where(changes.c.name == before + gate).values(name=before + other))
        owned = select(tokens.c.token_id).where(tokens.c.owner == user_id).order_by(tokens.c.created_ms)
        for number, token_id in enumerate(connection.execute(owned).scalars().all()):
            of_token = update(tokens).where(tokens.c.token_id == token_id)
            connection.execute(of_token.values(owner=pseudonym, token_id=f"{pseudonym}-{number}"))
        for column in _CHANGED_BY:
            # Without the token and the address, which would tell who it was.
            is_by_user = are_asked_by(column, user_id)
            connection.execute(update(column.table).where(is_by_user).values({column: pseudonym}))


def _empty_log(database: Database) -> None:
    """Have SQLite take over what its log still has of the old pages, and empty it."""
    if database.is_sqlite:
        with database.reading() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
