"""``Rounds``: looks at triggers each second, and at once when an item has come, as long as this process leads.

In the flow: the ledger's process runs one beside its consumer; who consumes leads, and its epoch is asked in each
transaction that fires (D42). A round fires what is due, sends what was fired, and now and then looks for firings whose
end nobody told. If Redis or the database does not answer, the next round does it; nothing else waits for it. Killed
anywhere, the next leader's first round goes on from the rows. Times are the database's, unless a test turns its clock.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from typing import Any, Final

from redis.exceptions import RedisError
from sqlalchemy import Connection

from ..configs.logger import Logger
from ..configs.settings import Settings
from ..ledger.book import Book
from ..ledger.consumer import Consumer
from ..ledger.errors import LedgerError
from ..ledger.opening import database_of
from ..ledger.process import Beside
from ..ledger.queries.asking import Asking
from ..scheduler.engine.engine import Engine
from ..scheduler.model.errors import QueueUnavailable
from .firing import Guard, due_triggers, fire, make_due
from .notifying.running import delivering
from .sending import send_all
from .settling import look_for_lost, settle
from .store import Store, now_of

_log: Final = Logger(__name__)
LOOK_SECONDS: Final = 1.0
LOOK_FOR_LOST_ROUNDS: Final = 10
MOST_FIRED_A_ROUND: Final = 1_000


class Rounds:
    """The triggers of one ledger. `come` may be called by any thread, the others by one."""

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
        self._told = ""
        self._lock = threading.Lock()
        self._come: set[int] = set()
        self._wakes = threading.Event()

    def come(self, queue_id: int) -> None:
        """An item has come to a queue: its triggers look at once."""
        with self._lock:
            self._come.add(queue_id)
        self._wakes.set()

    def round(self) -> int:
        """Fire, send and settle what there is; how many firings were accepted.

        Raises:
            LedgerError: If the database does not answer.
            QueueUnavailable: If Redis does not answer.
        """
        with self._lock:
            come, self._come = self._come, set()
        if come:
            self._store.write(lambda connection: make_due(connection, come, self._now(connection)))
        self._fire_all()
        sent = send_all(self._store, self._engine.transitions.park, self._consumes)
        self._rounds += 1
        if self._rounds % LOOK_FOR_LOST_ROUNDS == 1:
            look_for_lost(self._store, self._known, self._has_read_all)
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
            self._wakes.wait(LOOK_SECONDS)
            self._wakes.clear()

    def wake(self) -> None:
        """Let it look whether it is to stop."""
        self._wakes.set()

    def _fire_all(self) -> None:
        fired = 0
        while fired < MOST_FIRED_A_ROUND:
            found = self._store.read(lambda connection: due_triggers(connection, self._now(connection)))
            before = fired
            for trigger_id in found:
                fired += self._fire(trigger_id)
            if fired == before:
                break

    def _fire(self, trigger_id: int) -> int:
        def work(connection: Connection) -> str | None:
            return fire(connection, trigger_id, self._now(connection), self._leads)

        execution_id = self._store.write(work)
        if execution_id is None:
            return 0
        _log.info("trigger_fired", trigger_id=trigger_id, execution_id=execution_id)
        return 1

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
    client, channel = engine.scripts.client, engine.scripts.keys.items_channel
    while not stop.is_set():
        try:
            subscribed: Any
            with client.pubsub(ignore_subscribe_messages=True) as subscribed:
                subscribed.subscribe(channel)
                while not stop.is_set():
                    message: Any = subscribed.get_message(timeout=LOOK_SECONDS)
                    if message is not None and message["data"].isdigit():
                        rounds.come(int(message["data"]))
        except RedisError as error:
            # An item that came meanwhile is found when its triggers look.
            _log.debug("items_not_heard", problem=str(error))
            stop.wait(LOOK_SECONDS)


TRIGGERS: Final = Beside(settle, running)
"""What the ledger's process does of triggers."""
