"""``Outcome``: what a robot says of the item that it holds, and nobody else may say (D41).

In the flow: one transaction finds out, with the row locked, whether the caller holds the item: its robot, its fence,
and a lease that has not ended by the database's clock. Then the item ends, goes back, or its lease is renewed. A
failure of the application goes back until the queue's retries are used up; one of business never does. If the answer is
lost, the same outcome sent again finds that it was taken; with a late one nothing is changed, and it is told what
became of it.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select, update

from ..ledger.database import now_ms
from ..ledger.schema.tables import item_queues, queue_items
from ..scheduler.model.errors import InvalidRequest
from .bounds import RESULT_MAX_BYTES
from .checks import check_fields
from .failures import after_failure, kind_of, put_off
from .holding import check_held, row_of
from .json_texts import text_of
from .model import Item, item_of
from .notifying.outbox import note_items
from .picking import PICKED
from .states import By, Failure, Status, check_change
from .store import Store

_SAID: Final = (Status.DONE, Status.FAILED, Status.IN_PROGRESS, Status.NEW, Status.POSTPONED)
"""What a robot may say of an item."""
_OF_QUEUE: Final = tuple(
    item_queues.c[name] for name in ("name", "max_retries", "lease_seconds", "retry_seconds", "notify_url")
)
_OF_ITEM: Final = tuple(each for each in (*PICKED, queue_items.c.last_outcome) if each.name != "payload")
# Made once: to make a statement costs more than to send it.
_IS_MEANT: Final = queue_items.c.item_id == bindparam("said_of")
_NOW: Final = now_ms().label("now_ms")
_ASKED: Final = (
    select(*_OF_ITEM, *_OF_QUEUE, _NOW)
    .join_from(queue_items, item_queues)
    .where(_IS_MEANT)
    .with_for_update(of=queue_items)
)
_HELD: Final = select(queue_items, item_queues.c.name, _NOW).join_from(queue_items, item_queues).where(_IS_MEANT)
_SETTLED: Final = update(queue_items).where(_IS_MEANT)


@dataclass(frozen=True, slots=True)
class Said:
    """What a robot says of an item."""

    status: Status
    """DONE; FAILED; IN_PROGRESS: it goes on, and its lease begins anew; NEW: it gives it back; POSTPONED."""
    result: Any = None
    error_message: str | None = None
    failure: Failure | None = None
    """Of which kind; None: `failures.kind_of` finds out."""
    progress: str | None = None
    """A text for people."""
    lease_seconds: int | None = None
    """For how long it is held from now on; None: as the queue says."""
    available_ms: int | None = None
    """Until when it is postponed."""

    def digest(self, robot_id: str, fence: int) -> str:
        """Return by what the same outcome is known when it comes again."""
        of = [robot_id, fence, self.status, self.result, self.error_message, self.failure, self.available_ms]
        return hashlib.sha256(json.dumps(of).encode()).hexdigest()


class Outcome:
    """Settles items of one ledger. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        """Makes no connection."""
        self._store = store

    def say(
        self,
        item_id: str,
        said: Said,
        *,
        robot_id: str,
        fence: int | None,
        queues: tuple[str, ...] | None = None,
        job_id: str | None = None,
    ) -> Item:
        """Take what a robot says.

        Args:
            item_id: Of which item.
            said: What it says.
            robot_id: Who it is.
            fence: The number with which it got the item; None: it does not know, and only its id tells.
            queues: The names of the queues that it may know; None: all.
            job_id: It may know the items of this execution only; None: all.

        Returns:
            The item as it is now, without its payload, which may be large.

        Raises:
            ItemUnknown: If there is no such item that it may know.
            LeaseLost: If it does not hold it.
            InvalidRequest: If it says what does not fit together.
            LedgerError: If the database does not answer; it may have been taken, and may be said again.
        """
        _check(said)
        result = text_of("result", said.result, max_bytes=RESULT_MAX_BYTES)

        def work(connection: Connection) -> Item:
            row = row_of(connection, _ASKED, item_id, queues=queues, job_id=job_id)
            before, at_ms = item_of(row), row.now_ms
            digest = said.digest(robot_id, before.fence if fence is None else fence)
            if row.last_outcome == digest and said.status is not Status.IN_PROGRESS:
                # The answer to it was lost.
                return before
            check_held(before, robot_id, fence, at_ms)
            check_change(before.status, said.status, By.ROBOT)
            changed = _changes(before, said, row, at_ms)
            changed |= {"last_outcome": digest, "updated_ms": at_ms}
            if said.result is not None:
                changed["result"] = result
            if said.progress is not None:
                changed["progress"] = said.progress
            if said.status is not Status.IN_PROGRESS or said.progress is not None:
                changed["revision"] = before.revision + 1
            connection.execute(_SETTLED, {"said_of": item_id, **changed})
            after = item_of(row, **changed)
            if after.status is Status.FAILED and row.notify_url is not None:
                note_items(connection, [item_id], at_ms)
            return after

        return self._store.write(work)

    def held(
        self, item_id: str, *, robot_id: str, queues: tuple[str, ...] | None = None, job_id: str | None = None
    ) -> Item:
        """Return an item to whom holds it. Nothing is changed, and its lease is not renewed.

        Args:
            item_id: Which.
            robot_id: Who asks.
            queues: As for `say`.
            job_id: Likewise.

        Raises:
            ItemUnknown: If there is no such item that it may know.
            LeaseLost: If it does not hold it.
            LedgerError: If the database does not answer.
        """

        def work(connection: Connection) -> Item:
            row = row_of(connection, _HELD, item_id, queues=queues, job_id=job_id)
            item = item_of(row)
            check_held(item, robot_id, None, row.now_ms)
            return item

        return self._store.read(work)


def _check(said: Said) -> None:
    check_fields({name: getattr(said, name) for name in ("error_message", "progress", "available_ms")})
    if said.lease_seconds is not None:
        check_fields({"lease_seconds": said.lease_seconds})
    if said.status not in _SAID:
        raise InvalidRequest("status", f"{said.status} is not said by a robot", allowed=", ".join(_SAID))
    if said.failure is not None and said.status is not Status.FAILED:
        raise InvalidRequest("failure", f"the status is {said.status}", allowed=f"only with {Status.FAILED}")
    if (said.available_ms is None) == (said.status is Status.POSTPONED):
        raise InvalidRequest(
            "postpone_until", f"the status is {said.status}", allowed=f"with {Status.POSTPONED}, a time"
        )


def _changes(item: Item, said: Said, queue: Any, at_ms: int) -> dict[str, Any]:
    """The columns that an outcome changes beside those that each does; `queue` is a row with those of `_OF_QUEUE`."""
    if said.status is Status.IN_PROGRESS:
        # What an execution works on has no lease.
        lease_ms = (said.lease_seconds or queue.lease_seconds) * 1000
        return {} if item.job_id is not None else {"locked_until_ms": at_ms + lease_ms}
    if said.status is Status.DONE:
        return {"status": Status.DONE, "ended_ms": at_ms, "error_message": None, "failure": None}
    if said.status is Status.NEW:
        return {"status": Status.NEW}
    if said.status is Status.POSTPONED:
        return put_off(said.available_ms or at_ms, at_ms)
    failure = kind_of(said.failure, said.result, said.error_message)
    told = {"failure": failure, "error_message": said.error_message}
    # One of business is never tried again.
    max_retries = queue.max_retries if failure is Failure.APPLICATION else 0
    # Whoever is to be told of an item that failed for good is told here, in the same transaction.
    return told | after_failure(item.retries, max_retries, queue.retry_seconds, at_ms)
