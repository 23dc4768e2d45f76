"""Sends what was fired to Redis, until Redis has accepted it.

In the flow: a firing is a row before it is sent, and the row says under which id. Killed before Redis accepted it, or
its reply lost: whoever leads next sends it again, and an id that is taken was accepted before. So a firing is one
execution, and none is lost. If Redis has no room, it waits in SQL; if it can never be accepted, its items go back. Two
that send the same firing at once do what one does.
"""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Connection, select, update

from ..ledger.schema.tables import firings
from ..scheduler.engine.parking import Candidate
from ..scheduler.events import ExecutionRequestedEvent
from ..scheduler.model.errors import DuplicateExecution, InvalidRequest, QueueRejected
from ..scheduler.queue import candidate_of
from .bounds import SENT_A_ROUND
from .failing import note_failure, note_success
from .settling import put_back
from .store import Store, now_of

Park = Callable[[Candidate], object]
REFUSED: Final = "REFUSED"
"""The state of a firing that Redis can never accept."""


def send_all(store: Store, park: Park, leads: Callable[[], bool]) -> int:
    """Send a page of firings that are to be sent; how many were accepted.

    Args:
        store: The database.
        park: Accepts an execution in Redis.
        leads: Whether this process still leads.

    Raises:
        QueueUnavailable: If Redis does not answer; it may have accepted one.
        LedgerError: If the database does not answer.
    """
    sent = 0
    for row in store.read(_unsent):
        if not leads():
            break
        sent += send(store, park, row.execution_id, row.trigger_id, row.event)
    return sent


def send(store: Store, park: Park, execution_id: str, trigger_id: int, event: str) -> bool:
    """Send one firing, and write down what came of it; whether it was accepted. Raises as `send_all`."""
    try:
        park(candidate_of(ExecutionRequestedEvent.from_json(event)))
    except DuplicateExecution:
        pass
    except InvalidRequest as error:
        problem = str(error)
        store.write(lambda connection: _refuse(connection, execution_id, trigger_id, problem))
        return False
    except QueueRejected as error:
        problem = str(error)
        store.write(lambda connection: _put_off(connection, execution_id, trigger_id, problem))
        return False
    store.write(lambda connection: _accept(connection, execution_id, trigger_id))
    return True


def _unsent(connection: Connection) -> list[Any]:
    of = firings.c
    found = select(of.execution_id, of.trigger_id, of.event).where(
        of.ended_ms.is_(None), of.sent_ms.is_(None), of.again_ms <= now_of(connection)
    )
    return list(connection.execute(found.order_by(of.created_ms, of.execution_id).limit(SENT_A_ROUND)))


def _accept(connection: Connection, execution_id: str, trigger_id: int) -> None:
    of = firings.c
    # Its end may have been read meanwhile.
    accepted = update(firings).where(of.execution_id == execution_id, of.sent_ms.is_(None))
    connection.execute(accepted.values(sent_ms=now_of(connection), event=None))
    note_success(connection, trigger_id)


def _put_off(connection: Connection, execution_id: str, trigger_id: int, problem: str) -> None:
    again_ms = note_failure(connection, trigger_id, problem, now_of(connection))
    waits = update(firings).where(firings.c.execution_id == execution_id, firings.c.sent_ms.is_(None))
    connection.execute(waits.values(again_ms=again_ms))


def _refuse(connection: Connection, execution_id: str, trigger_id: int, problem: str) -> None:
    at_ms = now_of(connection)
    note_failure(connection, trigger_id, problem, at_ms)
    put_back(connection, execution_id, REFUSED, at_ms)
