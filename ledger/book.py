"""``Book``: who consumes the journal, how far it was read, and each page with its position in one transaction.

In the flow: the consumer reads a page of the journal, and gives it here. The position is in the database, beside what
it brought: if the process dies or the commit's reply is lost, the page is either written as a whole or read again. Each
commit renews the consumer's lease and fails if another process has taken it, so no page is written twice.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from sqlalchemy import Connection, case, func, select, text, update

from ..scheduler.engine.journal import JournalEntry
from ..scheduler.engine.journal_following import START, Page, Position
from .batch import Batch
from .database import Database, now_ms
from .errors import NotConsumer, RowsRefused
from .fetching import Fetched
from .kept import note_exit_codes, write_kept
from .reconciling import Living, Reconciled, Reconciling
from .schema.tables import consumer, gaps, journals
from .settling import Settle, settle_nothing
from .standing import check_queue, read_up_to
from .statements import insert_or
from .totals import Totals, write_totals
from .unread_changes import write_unread
from .writing import count_written, known, write

_SHORTEST_BOUND_MS: Final = 1_000
_FIRST: Final = {
    "consumer_id": 1,
    "epoch": 0,
    "holder": "",
    "renewed_ms": 0,
    "entry_id": "",
    "entry_count": 0,
    "is_unsure": True,
}


class Book:
    """The ledger's tables as the consumer writes them. Not safe to share between threads."""

    def __init__(
        self,
        database: Database,
        *,
        queue: str,
        holder: str,
        ttl_ms: int = 10_000,
        keep_figures: bool = True,
        settle: Settle = settle_nothing,
    ) -> None:
        """Makes no connection.

        Args:
            database: The database.
            queue: The prefix of the queue's keys.
            holder: The name of this process, which no other has.
            ttl_ms: After this time without a commit another process may become the consumer.
            keep_figures: Whether the figures of each action's queue are written. If not, those that are there stay as
                they are, and a later consumer that writes them counts again first.
            settle: Is told of executions as they are written, in the same transaction.
        """
        self._database = database
        self._queue = queue
        self.holder: Final = holder
        self._ttl_ms = ttl_ms
        self._keeps_figures = keep_figures
        self._settle = settle
        self._epoch = 0
        self._journal_id = 0

    def take(self) -> bool:
        """Become the consumer, unless another process is.

        Returns:
            Whether this process is the consumer now.

        Raises:
            AnotherQueue: If the ledger is that of another queue.
        """
        with self._database.writing() as connection:
            self._bound_idleness(connection)
            first = insert_or(connection, consumer).values(**_FIRST, queue=self._queue)
            connection.execute(first.on_conflict_do_nothing())
            check_queue(connection, self._queue)
            is_own = consumer.c.holder == self.holder
            # Who takes it again after a failure has written nothing yet: on a full disk this is all that ever fits.
            renewed_ms = case((is_own, consumer.c.renewed_ms), else_=now_ms())
            # A lease from the future is of a clock that was set back since: nobody renews it.
            is_over = func.abs(now_ms() - consumer.c.renewed_ms) > self._ttl_ms
            taken = update(consumer).where(is_over | is_own)
            taken = taken.values(epoch=consumer.c.epoch + 1, holder=self.holder, renewed_ms=renewed_ms)
            if connection.execute(taken).rowcount == 0:
                return False
            self._epoch = connection.execute(select(consumer.c.epoch)).scalar_one()
        return True

    def position(self) -> Position | None:
        """How far the journal was read; None if none was ever read."""
        with self._database.reading() as connection:
            position = read_up_to(connection)
            if position is not None:
                self._journal_id = connection.execute(select(consumer.c.journal_id)).scalar_one()
        return position

    def has_followed(self, incarnation: str) -> bool:
        """Whether the journal of this name was followed at any time."""
        with self._database.reading() as connection:
            found = select(journals.c.journal_id).where(journals.c.incarnation == incarnation)
            return connection.execute(found).one_or_none() is not None

    def count_known(self, entries: Sequence[JournalEntry], *, was_followed: bool) -> int:
        """How many of some entries there are up to the last that was written before (see `count_written`)."""
        with self._database.reading() as connection:
            return count_written(connection, entries, was_followed=was_followed)

    def begin(self, position: Position, at_ms: int) -> None:
        """Follow another journal from now on; what is known of living executions is unsure until it is reconciled.

        Args:
            position: Where it begins.
            at_ms: The Redis server's time.

        Raises:
            NotConsumer: If another process has become the consumer.
        """
        with self.writing() as connection:
            named = insert_or(connection, journals).values(incarnation=position.incarnation, begun_ms=at_ms)
            connection.execute(named.on_conflict_do_nothing())
            found = select(journals.c.journal_id).where(journals.c.incarnation == position.incarnation)
            self._journal_id = connection.execute(found).scalar_one()
            if position.entry_id == START and position.count:
                self._note_gap(connection, 0, position.count, at_ms, since_ms=0)
            self._move(connection, position, is_unsure=True)

    def write(self, page: Page, fetched: Fetched, at_ms: int) -> None:
        """Write a page of the journal.

        Args:
            page: The entries that follow the position.
            fetched: The payloads and results that belong to them.
            at_ms: The Redis server's time.

        Raises:
            NotConsumer: If another process has become the consumer. Nothing was written.
            LedgerUnavailable: If the database does not answer. The page is written as a whole or not at all.
            RowsRefused: If an entry makes rows that cannot stand. Nothing was written.
        """
        with self.writing() as connection:
            try:
                batch = Batch(self._journal_id, known(connection, page.entries))
                batch.add(page.entries)
                note_exit_codes(batch.executions, fetched.results)
                if not self._keeps_figures:
                    batch.figures.clear()
                write(connection, batch)
            except (KeyError, ValueError, OverflowError, OSError) as error:
                # A field is missing, or no number, or no time: no script of this release wrote it so.
                raise RowsRefused(type(error).__name__, url=self._database.shown_url) from error
            self._settle(connection, [batch.executions[one] for one in sorted(batch.changed)])
            write_kept(connection, fetched)
            if page.missed:
                read_up_to_id = connection.execute(select(consumer.c.entry_id)).scalar_one()
                since_ms = int((read_up_to_id or START).partition("-")[0])
                self._note_gap(connection, page.position.count - page.passed, page.missed, at_ms, since_ms=since_ms)
            is_unsure = bool(page.missed) or not self._keeps_figures
            self._move(connection, page.position, is_unsure=True if is_unsure else None)

    @property
    def is_unsure(self) -> bool:
        """Whether living executions have to be compared with Redis, because entries are missing."""
        with self._database.reading() as connection:
            return connection.execute(select(consumer.c.is_unsure)).scalar_one()

    def reconcile(self, redis: Living, at_ms: int, after_page: Callable[[], None] = lambda: None) -> Reconciled:
        """Take over what Redis knows of living executions, whatever the ledger knew, and of changes by operators.

        Args:
            redis: What Redis knows.
            at_ms: The Redis server's time.
            after_page: Called after each page. What it raises ends the work, which somebody begins again.

        Raises:
            NotConsumer: If another process has become the consumer. What was written is right, and it begins again.
        """
        transactions = self._database.reading, self.writing
        done = Reconciling(
            redis,
            *transactions,
            journal_id=self._journal_id,
            at_ms=at_ms,
            after_page=after_page,
            keep_figures=self._keeps_figures,
            settle=self._settle,
        ).run()
        changes = redis.changes()
        with self.writing() as connection:
            write_unread(connection, self._journal_id, changes)
            connection.execute(update(consumer).values(is_unsure=not self._keeps_figures))
        return done

    def renew(self) -> None:
        """Stay the consumer without writing anything.

        Raises:
            NotConsumer: If another process has become the consumer.
        """
        with self.writing():
            pass

    def resign(self) -> None:
        """Let another process become the consumer at once."""
        gone = update(consumer).where(consumer.c.epoch == self._epoch).values(renewed_ms=0)
        with self._database.writing() as connection:
            connection.execute(gone)

    def reading(self) -> AbstractContextManager[Connection]:
        """Read, whoever is the consumer.

        Raises:
            LedgerUnavailable: If the database does not answer.
            LedgerRefused: If it will not do it.
        """
        return self._database.reading()

    def leads(self, connection: Connection) -> bool:
        """Whether this process is the consumer, in a transaction of somebody else's. Any thread may ask."""
        return connection.execute(select(consumer.c.epoch)).scalar_one_or_none() == self._epoch

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Write as the consumer: its row stays locked until the commit, so who takes it waits, and comes afterwards.

        Raises:
            NotConsumer: If another process has become the consumer. Nothing was written.
            LedgerUnavailable: If the database does not answer. All is written, or nothing.
        """
        with self._database.writing() as connection:
            self._bound_idleness(connection)
            renewed = update(consumer).where(consumer.c.epoch == self._epoch).values(renewed_ms=now_ms())
            if connection.execute(renewed).rowcount != 1:
                raise NotConsumer
            yield connection

    def _bound_idleness(self, connection: Connection) -> None:
        """Have PostgreSQL roll this transaction back if its process freezes within: whoever takes over waits for its
        locks. SQLite cannot do that: there, they are free when the process goes on or ends.
        """
        if not self._database.is_sqlite:
            bound_ms = max(_SHORTEST_BOUND_MS, self._ttl_ms)
            connection.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = {bound_ms}"))

    def _move(self, connection: Connection, position: Position, *, is_unsure: bool | None) -> None:
        moved = update(consumer).values(
            journal_id=self._journal_id,
            entry_id=position.entry_id,
            entry_count=position.count,
            server=position.server or "",
        )
        connection.execute(moved if is_unsure is None else moved.values(is_unsure=is_unsure))

    def _note_gap(self, connection: Connection, count: int, missed: int, at_ms: int, *, since_ms: int) -> None:
        gap = {"journal_id": self._journal_id, "entry_count": count, "missed": missed, "noticed_ms": at_ms}
        gap["since_ms"] = since_ms
        if connection.execute(insert_or(connection, gaps).values(**gap).on_conflict_do_nothing()).rowcount:
            totals = Totals()
            totals.miss(missed)
            write_totals(connection, totals)
