"""Sends what was fired to Redis, until Redis has accepted it.

In the flow: a firing is a row before it is sent, and the row says under which id. Killed before Redis accepted it, or
its reply lost: whoever leads next sends it again, and an id that is taken was accepted before. Redis forgets ids a
while after the end, so a firing that is not new is sent only when the ledger has read all that Redis has told: if it
was accepted and has ended, that ended the firing. So a firing is one execution, and none is lost. If Redis has no room,
it waits in SQL, with all others of its trigger: they would be refused for the same reason, and those of other triggers
go on. If it can never be accepted, its items go back. Two that send the same firing at once do what one does.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select, update

from ..configs.logger import Logger
from ..ledger.errors import LedgerError
from ..ledger.schema.tables import firings
from ..scheduler.engine.parking import Candidate
from ..scheduler.events import ExecutionRequestedEvent
from ..scheduler.model.errors import DuplicateExecution, InvalidRequest, QueueRejected, QueueUnavailable
from ..scheduler.queue import candidate_of
from .bounds import SENT_A_PAGE
from .failing import note_failure, note_success, told_of
from .settling import put_back
from .store import Store, now_of

_log: Final = Logger(__name__)
Park = Callable[[Candidate], object]
NEW_MS: Final = 10_000
"""For so long a firing is new: Redis remembers ids for longer (`retention.meta_ttl_seconds`, a day)."""
REFUSED: Final = "REFUSED"
"""The state of a firing that Redis can never accept."""


class Sent(NamedTuple):
    """What came of a page."""

    accepted: int
    has_more: bool
    """Whether there may be another page."""


class Came(Enum):
    """What came of a firing."""

    ACCEPTED = auto()
    PUT_OFF = auto()
    """With all of its trigger."""
    REFUSED = auto()


def send_page(store: Store, park: Park, leads: Callable[[], bool], has_read_all: Callable[[], bool]) -> Sent:
    """Send a page of firings that are to be sent. None of them is in the next page: it was sent, put off or refused.

    Args:
        store: The database.
        park: Accepts an execution in Redis.
        leads: Whether this process still leads.
        has_read_all: Whether the ledger has read all that Redis has told.

    Raises:
        QueueUnavailable: If Redis does not answer; it may have accepted one.
        LedgerError: If the database does not answer.
    """
    # Asked first: what was read is in the rows.
    only_new = not has_read_all()
    rows, accepted, waits = store.read(lambda connection: _unsent(connection, only_new)), 0, set[int]()
    for row in rows:
        if row.trigger_id in waits:
            continue
        if not leads():
            return Sent(accepted, has_more=False)
        came = _send(store, park, row)
        accepted += came is Came.ACCEPTED
        if came is Came.PUT_OFF:
            waits.add(row.trigger_id)
    return Sent(accepted, has_more=len(rows) == SENT_A_PAGE)


def _send(store: Store, park: Park, row: Any) -> Came:
    """Send one firing, and write down what came of it."""
    execution_id, trigger_id = row.execution_id, row.trigger_id
    try:
        park(candidate_of(ExecutionRequestedEvent.from_json(row.event)))
    except DuplicateExecution:
        pass
    except InvalidRequest as error:
        problem = str(error)
        store.write(lambda connection: _refuse(connection, execution_id, trigger_id, problem))
        return Came.REFUSED
    except (QueueUnavailable, LedgerError):
        raise
    except Exception as error:  # noqa: BLE001  # whatever is wrong with one, the others are sent
        if not isinstance(error, QueueRejected):
            _log.error("firing_not_sent", execution_id=execution_id, exc_info=error)
        problem = told_of(error)
        store.write(lambda connection: _put_off(connection, trigger_id, problem))
        return Came.PUT_OFF
    store.write(lambda connection: _accept(connection, execution_id, trigger_id))
    return Came.ACCEPTED


def _unsent(connection: Connection, only_new: bool) -> list[Any]:
    of, at_ms = firings.c, now_of(connection)
    found = select(of.execution_id, of.trigger_id, of.event).where(
        of.ended_ms.is_(None), of.sent_ms.is_(None), of.again_ms <= at_ms
    )
    if only_new:
        found = found.where(of.created_ms > at_ms - NEW_MS)
    return list(connection.execute(found.order_by(of.created_ms, of.execution_id).limit(SENT_A_PAGE)))


def _accept(connection: Connection, execution_id: str, trigger_id: int) -> None:
    of = firings.c
    # The trigger's row first, as whoever changes it does.
    note_success(connection, trigger_id)
    # Its end may have been read meanwhile.
    accepted = update(firings).where(of.execution_id == execution_id, of.sent_ms.is_(None))
    connection.execute(accepted.values(sent_ms=now_of(connection), event=None))


def _put_off(connection: Connection, trigger_id: int, problem: str) -> None:
    """Put all firings of a trigger off that are to be sent."""
    again_ms, of = note_failure(connection, trigger_id, problem, now_of(connection)), firings.c
    waits = update(firings).where(of.trigger_id == trigger_id, of.sent_ms.is_(None), of.ended_ms.is_(None))
    connection.execute(waits.values(again_ms=again_ms))


def _refuse(connection: Connection, execution_id: str, trigger_id: int, problem: str) -> None:
    at_ms = now_of(connection)
    note_failure(connection, trigger_id, problem, at_ms)
    put_back(connection, execution_id, REFUSED, at_ms)
