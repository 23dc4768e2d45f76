"""``Rounds``: looks at triggers each second, and at once when an item has come, as long as this process leads.

In the flow: the ledger's process runs one beside its consumer; who consumes leads, and its epoch is asked in each
transaction that fires (D42). A round fires what is due, sends what was fired, and now and then looks for firings whose
end nobody told, and for triggers that wait for the end of a leap of the clock. If Redis or the database does not
answer, the next round does it; nothing else waits for it. What is wrong with one trigger puts that one off. Nothing is
kept here: killed anywhere, the next leader's first round goes on from the rows. Times are the database's, unless a test
turns its clock.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from typing import Final

from sqlalchemy import Connection

from ..configs.logger import Logger
from ..configs.settings import Settings
from ..ledger.book import Book
from ..ledger.consumer import Consumer
from ..ledger.errors import LedgerError, RowsRefused
from ..ledger.opening import database_of
from ..ledger.process import Beside
from ..ledger.queries.asking import Asking
from ..scheduler.engine.engine import Engine
from ..scheduler.model.errors import QueueUnavailable
from ..scheduler.model.limits import EVERYTHING
from .failing import note_failure, told_of
from .firing import Guard, due_triggers, fire, has_come, make_due
from .hearing import hear
from .leaping import put_right, too_late
from .lost import Asked, look_for_lost
from .notifying.running import delivering
from .sending import send_page
from .settling import settle
from .store import Store, now_of

_log: Final = Logger(__name__)
LOOK_SECONDS: Final = 1.0
LOOK_FOR_LOST_ROUNDS: Final = 10
LOOK_FOR_LEAPS_ROUNDS: Final = 5
MOST_FIRED_A_ROUND: Final = 1_000
PAGES_A_ROUND: Final = 10
"""Of firings that are sent. What is left then is the next round's, which begins at once."""


class Rounds:
    """The triggers of one ledger. `wake` may be called by any thread, the others by one."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        *,
        leads: Guard,
        consumes: Callable[[], bool],
        has_read_all: Callable[[], bool],
        now: Callable[[Connection], int] = now_of,
    ) -> None:
        """Makes no call.

        Args:
            store: The database.
            engine: The queue that gets the executions.
            leads: Whether this process leads, asked in a transaction.
            consumes: Whether it does, as far as it knows.
            has_read_all: Whether the ledger has all that the journal tells.
            now: Tells the time, in Unix milliseconds.
        """
        self._store = store
        self._engine = engine
        self._leads = leads
        self._consumes = consumes
        self._has_read_all = has_read_all
        self._now = now
        self._rounds = 0
        self._looked_after = 0
        self._told = ""
        self._wakes = threading.Event()

    def round(self) -> int:
        """Fire, send and settle what there is; how many firings were accepted.

        Raises:
            LedgerError: If the database does not answer.
            QueueUnavailable: If Redis does not answer.
        """
        if self._store.read(lambda connection: connection.execute(has_come(self._now(connection))).first()):
            self._store.write(lambda connection: make_due(connection, self._now(connection)))
        if self._rounds % LOOK_FOR_LEAPS_ROUNDS == 0:
            self._look_for_leaps()
        self._fire_all()
        sent = self._send_all()
        self._rounds += 1
        if self._rounds % LOOK_FOR_LOST_ROUNDS == 1:
            look_for_lost(self._store, Asked(self._is_all_paused, self._known, self._has_read_all))
        return sent

    def run(self, stop: threading.Event) -> None:
        """Go round until `stop` is set."""
        while not stop.is_set():
            if self._consumes():
                try:
                    self.round()
                    self._told = ""
                except (LedgerError, QueueUnavailable) as error:
                    self._tell(error)
                except Exception as error:  # noqa: BLE001  # without this thread, no trigger would fire any more
                    _log.error("triggers_failed", exc_info=error)
            self._wakes.wait(LOOK_SECONDS)
            self._wakes.clear()

    def wake(self) -> None:
        """Let it look at once: an item has come, or it is to stop."""
        self._wakes.set()

    def _fire_all(self) -> None:
        fired = 0
        while fired < MOST_FIRED_A_ROUND:
            found = self._store.read(lambda connection: due_triggers(connection, self._now(connection)))
            before = fired
            for trigger_id in found:
                fired += self._fire(trigger_id)
            if fired == before:
                return
        self._wakes.set()

    def _look_for_leaps(self) -> None:
        found, self._looked_after = self._store.read(
            lambda connection: too_late(connection, self._looked_after, self._now(connection))
        )
        if found:
            _log.warning("triggers_waited_for_a_leap", count=len(found))
            self._store.write(lambda connection: put_right(connection, found))

    def _send_all(self) -> int:
        accepted = 0
        for _ in range(PAGES_A_ROUND):
            sent = send_page(self._store, self._engine.transitions.park, self._consumes, self._has_read_all)
            accepted += sent.accepted
            if not sent.has_more:
                return accepted
        self._wakes.set()
        return accepted

    def _fire(self, trigger_id: int) -> int:
        def work(connection: Connection) -> str | None:
            return fire(connection, trigger_id, self._now(connection), self._leads)

        try:
            execution_id = self._store.write(work)
        except Exception as error:
            if isinstance(error, LedgerError) and not isinstance(error, RowsRefused):
                raise
            # Whatever is wrong with one, the others fire.
            problem = told_of(error)
            _log.error("trigger_not_fired", trigger_id=trigger_id, exc_info=error)
            self._store.write(lambda connection: note_failure(connection, trigger_id, problem, self._now(connection)))
            return 0
        if execution_id is None:
            return 0
        _log.info("trigger_fired", trigger_id=trigger_id, execution_id=execution_id)
        return 1

    def _is_all_paused(self) -> bool:
        return EVERYTHING in self._engine.controls.paused()

    def _known(self, execution_ids: list[str]) -> dict[str, str]:
        found = zip(execution_ids, self._engine.views.metas(execution_ids), strict=True)
        return {one: meta["state"] for one, meta in found if "state" in meta}

    def _tell(self, error: Exception) -> None:
        """Log a problem once, until it is over."""
        if self._told != str(error):
            self._told = str(error)
            _log.warning("triggers_wait", error=str(error))


@contextmanager
def running(settings: Settings, engine: Engine, book: Book, consumer: Consumer) -> Generator[None]:
    """Run the triggers of the settings' ledger and what notifies beside its consumer, by connections of their own."""
    stop = threading.Event()
    with closing(database_of(settings)) as database, delivering(settings, consumer):
        rounds = Rounds(
            Store(Asking(database, queue=settings.redis.prefix)),
            engine,
            leads=book.leads,
            consumes=lambda: consumer.consumes,
            has_read_all=lambda: consumer.has_read_all,
        )
        threads = [
            threading.Thread(target=rounds.run, args=(stop,), name="triggers"),
            # It may wait for Redis for long, and has nothing to finish.
            threading.Thread(target=_listen, args=(engine, rounds, stop), name="items-come", daemon=True),
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            rounds.wake()
            threads[0].join()


def _listen(engine: Engine, rounds: Rounds, stop: threading.Event) -> None:
    def came(_: int) -> None:
        rounds.wake()

    hear(engine.scripts.client, engine.scripts.keys.items_channel, stop, came)


TRIGGERS: Final = Beside(settle, running)
"""What the ledger's process does of triggers."""
