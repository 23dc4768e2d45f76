"""``Testing``: tries the address of a queue or a trigger with a notification that tells of nothing.

In the flow: operators ask for one by the API, the page or the command line. It takes the way of all others: a row of
the outbox, which the ledger's leader sends, signed, from where it runs. It is tried once, and what came of it stands in
the row (`listing.find_notification`). Killed before the row is written, nothing has happened; asked twice while one
waits, there is one.
"""

from typing import Final

from sqlalchemy import Connection, select

from ...ledger.schema.notification_tables import waits
from ...ledger.schema.tables import notifications
from ...scheduler.model.errors import InvalidRequest, shown
from ..changes import Verb, note_change
from ..model import Queue
from ..store import Store, now_of
from ..trigger import Trigger
from .address import NOTIFY_URL, shown_address
from .due import TEST_TRIED_WITHIN_MS
from .outbox import Event, note_test
from .subject import Subject

_OPTION: Final = "--notify URL"


class Testing:
    """Tests of one ledger's addresses. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        """Makes no connection."""
        self._store = store

    def of_queue(self, queue: Queue, *, by: str) -> str:
        """Send a test to a queue's address; its notification's id.

        Raises:
            InvalidRequest: If the queue has no address.
            LedgerError: If the database does not answer.
        """
        return self._send(Subject.QUEUE, queue.queue_id, queue.name, queue.notify_url, by)

    def of_trigger(self, trigger: Trigger, *, by: str) -> str:
        """Send a test to a trigger's address; its notification's id.

        Raises:
            InvalidRequest: If the trigger has no address.
            LedgerError: If the database does not answer.
        """
        return self._send(Subject.TRIGGER, trigger.trigger_id, trigger.name, trigger.notify_url, by)

    def _send(self, subject: Subject, subject_id: int, name: str, url: str | None, by: str) -> str:
        if url is None:
            change = f"`bandmaster {subject} change {name} {_OPTION}`"
            raise InvalidRequest(NOTIFY_URL, f"{subject} {shown(name)} has none", allowed=f"after {change}")

        def work(connection: Connection) -> str:
            at_ms, of = now_of(connection), notifications.c
            same = select(of.delivery_id).where(
                of.subject == subject.value,
                of.subject_id == subject_id,
                of.event == Event.TEST.value,
                waits(),
                of.created_ms > at_ms - TEST_TRIED_WITHIN_MS,
            )
            found = connection.execute(same.limit(1)).scalar()
            if found is not None:
                return str(found)
            delivery_id = note_test(connection, subject, subject_id, name, at_ms)
            of_it = f"{subject}:{name}"
            note_change(connection, Verb.TEST_NOTIFICATION, of_it, None, shown_address(url), by=by, at_ms=at_ms)
            return delivery_id

        return self._store.write(work)
