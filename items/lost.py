"""Looks for firings whose end nobody will tell, and settles their items.

In the flow: the leader's rounds ask now and then. Redis and the ledger both lack the execution, or its end was in
entries that were dropped unread. If Redis lost its data, what it ran may run on, and a rebuild may restore the rest:
items stay with their execution until somebody has rebuilt, or for as long as `unrestored` tells of it, and while
everything is paused, as during a rebuild; then until the execution's timeout is over. A rebuild leaves out those whose
items went back. Killed anywhere, the next leader looks again; each firing ends once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Connection, cast, func, or_, select

from ..configs.logger import Logger
from ..ledger.schema.tables import executions, firings, payloads, triggers
from ..ledger.settling import LOST
from ..ledger.unrestored import unrestored
from ..scheduler.model.states import TERMINAL, State
from .bounds import SENT_A_PAGE, TIMEOUT_SECONDS
from .settling import put_back, settle_one
from .store import Store, now_of

_log: Final = Logger(__name__)
LOST_AFTER_MS: Final = 60_000


class Asked(NamedTuple):
    """What is asked while it looks, in this order: a rebuild pauses, restores, and ends the pause."""

    is_all_paused: Callable[[], bool]
    """Whether everything is paused in Redis."""
    known: Callable[[list[str]], Mapping[str, str]]
    """Tells the states of those executions that Redis knows, by id."""
    has_read_all: Callable[[], bool]
    """Whether the ledger has read all that Redis has told."""


class _Page(NamedTuple):
    rows: Sequence[Any]
    at_ms: int
    is_unrestored: bool


def look_for_lost(store: Store, asked: Asked) -> int:
    """Settle firings whose end was not told; how many.

    Args:
        store: The database.
        asked: Asks Redis, and the consumer.

    Raises:
        QueueUnavailable: If Redis does not answer.
        LedgerError: If the database does not answer.
    """
    found, after = 0, ""
    while True:
        page = store.read(lambda connection, after=after: _long_ago(connection, after))
        if page.rows:
            found += _settle(store, page, asked)
        if len(page.rows) < SENT_A_PAGE:
            return found
        after = page.rows[-1].execution_id


def _settle(store: Store, page: _Page, asked: Asked) -> int:
    may_come_back = asked.is_all_paused() or page.is_unrestored
    in_redis = asked.known([row.execution_id for row in page.rows])
    if not asked.has_read_all():
        return 0
    found = 0
    for row in page.rows:
        told = in_redis.get(row.execution_id)
        if row.state in TERMINAL:
            found += store.write(_settling(row.execution_id, State(row.state)))
        elif told in TERMINAL:
            found += store.write(_settling(row.execution_id, State(told)))
        elif told is None:
            # Whose end was dropped unread has ended, and is not restored.
            if row.ended_ms is None and (may_come_back or page.at_ms < _runs_until_ms(row)):
                continue
            _log.warning("firing_lost", execution_id=row.execution_id)
            found += store.write(_losing(row.execution_id))
    return found


def _runs_until_ms(row: Any) -> int:
    """Until when a pod may run of which Redis has lost all; two clocks."""
    return max(row.sent_ms, row.lost_ms or 0) + row.timeout_ms + LOST_AFTER_MS


def _settling(execution_id: str, state: State) -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        settle_one(connection, execution_id, state, None, now_of(connection))
        return 1

    return work


def _losing(execution_id: str) -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        put_back(connection, execution_id, LOST, now_of(connection))
        return 1

    return work


def _long_ago(connection: Connection, after: str) -> _Page:
    """Firings that were accepted a while ago and live, with what the ledger knows of their executions."""
    of, state, at_ms = firings.c, executions.c.state, now_of(connection)
    of_trigger_ms = cast(triggers.c.timeout_seconds, BigInteger) * 1000
    timeout_ms = func.coalesce(payloads.c.timeout_ms, of_trigger_ms, TIMEOUT_SECONDS * 1000)
    told = (executions.c.state, executions.c.lost_ms, executions.c.ended_ms)
    found = (
        select(of.execution_id, of.sent_ms, *told, timeout_ms.label("timeout_ms"))
        .join_from(firings, executions, of.execution_id == executions.c.execution_id, isouter=True)
        .outerjoin(payloads, payloads.c.execution_id == of.execution_id)
        .outerjoin(triggers, triggers.c.trigger_id == of.trigger_id)
        .where(of.execution_id > after, of.ended_ms.is_(None), of.sent_ms < at_ms - LOST_AFTER_MS)
        .where(or_(state.is_(None), state.in_(sorted(TERMINAL)), executions.c.lost_ms.is_not(None)))
        .order_by(of.execution_id)
    )
    rows = connection.execute(found.limit(SENT_A_PAGE)).all()
    return _Page(rows, at_ms, bool(rows) and unrestored(connection) is not None)
