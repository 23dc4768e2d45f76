"""``Delivering``: delivers notifications while this process leads, each until its receiver took it or a day is over.

In the flow: the ledger's process runs one in a thread of its own, beside consumer and triggers, so nothing waits for a
receiver. Many are posted at once, and few of them to the same receiver, so that one that hangs has its own places only.
An attempt is noted after it was made: killed in between, the next leader makes it again under the same id; two that
lead for a moment deliver twice. If the database does not answer, the next look does it. Times are the database's.
`running` starts it.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from sqlalchemy import Connection

from ...configs.logger import Logger
from ...ledger.errors import LedgerError
from ..store import Store, now_of
from .due import ROWS_A_PAGE, Due, delete_old, due_now, give_up, note_problem, note_sent
from .posting import Attempt, Posting

_log: Final = Logger(__name__)
LOOK_SECONDS: Final = 1.0
TIDY_LOOKS: Final = 60
AT_ONCE: Final = 64
AT_ONCE_TO_ONE: Final = 4
"""Deliveries to one receiver."""


class Delivering:
    """Delivers what one ledger has to tell. Used by one thread."""

    def __init__(
        self,
        store: Store,
        posting: Posting,
        *,
        leads: Callable[[], bool],
        now: Callable[[Connection], int] = now_of,
    ) -> None:
        """Makes no call.

        Args:
            store: The database.
            posting: Makes attempts.
            leads: Whether this process leads, as far as it knows.
            now: Tells the time, in Unix milliseconds.
        """
        self._store = store
        self._posting = posting
        self._leads = leads
        self._now = now
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._ended_meanwhile: set[str] = set()
        """What was noted while the database was asked: its answer may not know that yet."""
        self._to_receiver: Counter[str] = Counter()
        self._looks = 0
        self._told = ""

    def run(self, stop: threading.Event) -> None:
        """Deliver until `stop` is set; what is under way then is broken off, and made again by whoever leads next."""
        asyncio.run(self._run(stop))

    def deliver_due(self) -> int:
        """Make an attempt of all that is due, once, and wait for them; how many were made."""
        return asyncio.run(self._deliver_due())

    async def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            if self._leads():
                try:
                    await self._begin_due()
                    await self._tidy()
                    self._told = ""
                except Exception as error:  # noqa: BLE001  # without this thread, nothing would be delivered any more
                    self._tell(error)
            await self._wait()
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def _wait(self) -> None:
        """Wait until it is time to look; at once if there may be more of a receiver that has just answered."""
        tasks = set(self._under_way.values())
        if tasks:
            await asyncio.wait(tasks, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(LOOK_SECONDS)

    async def _deliver_due(self) -> int:
        begun = await self._begin_due()
        await asyncio.gather(*self._under_way.values())
        return begun

    async def _begin_due(self) -> int:
        self._ended_meanwhile.clear()
        due = await asyncio.to_thread(self._store.read, lambda connection: due_now(connection, self._now(connection)))
        begun = 0
        for each in due:
            if each.delivery_id in self._under_way or each.delivery_id in self._ended_meanwhile:
                continue
            receiver = urlsplit(each.url).netloc
            if len(self._under_way) >= AT_ONCE:
                break
            if self._to_receiver[receiver] < AT_ONCE_TO_ONE:
                self._to_receiver[receiver] += 1
                self._under_way[each.delivery_id] = asyncio.create_task(self._deliver(each, receiver))
                begun += 1
        return begun

    async def _deliver(self, due: Due, receiver: str) -> None:
        try:
            attempt = await self._posting.post(due.url, due.delivery_id, due.body.encode())
            await self._note(due, attempt)
        finally:
            self._to_receiver[receiver] -= 1
            del self._under_way[due.delivery_id]
            self._ended_meanwhile.add(due.delivery_id)
        told = {"delivery_id": due.delivery_id, "notification": due.event, "of": due.subject_name}
        if attempt.problem is None:
            _log.info("notified", **told)
        else:
            _log.warning("not_notified", **told, problem=attempt.problem, attempts=due.attempts + 1)

    async def _note(self, due: Due, attempt: Attempt) -> None:
        """Note an attempt. It is under way until then, so that a database that is full lets nothing be sent again and
        again."""
        while self._leads():
            try:
                await asyncio.to_thread(self._store.write, self._noting(due, attempt))
            except Exception as error:  # noqa: BLE001  # whatever it is, what is not noted would be sent again
                self._tell(error)
                await asyncio.sleep(LOOK_SECONDS)
            else:
                return

    def _noting(self, due: Due, attempt: Attempt) -> Callable[[Connection], None]:
        def work(connection: Connection) -> None:
            at_ms = self._now(connection)
            if attempt.problem is None:
                note_sent(connection, due, attempt.status, at_ms)
            else:
                note_problem(connection, due, attempt.problem, attempt.status, at_ms)

        return work

    async def _tidy(self) -> None:
        self._looks += 1
        if self._looks % TIDY_LOOKS == 1:
            for work in (give_up, delete_old):
                while await asyncio.to_thread(self._store.write, self._page(work)) >= ROWS_A_PAGE:
                    pass

    def _page(self, work: Callable[[Connection, int], int]) -> Callable[[Connection], int]:
        return lambda connection: work(connection, self._now(connection))

    def _tell(self, error: Exception) -> None:
        """Log a problem once, until it is over; what nobody expects, each time."""
        if not isinstance(error, LedgerError):
            _log.error("notifications_failed", exc_info=error)
        elif self._told != str(error):
            self._told = str(error)
            _log.warning("notifications_wait", error=str(error))
