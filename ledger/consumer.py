"""``Consumer``: reads the journal and writes it into the ledger, until it is told to stop.

In the flow: the process ``ledger`` runs one. Any number of such processes may run; one consumes, the others wait for
its lease to run out. If Redis or the database does not answer, it tries again after a pause that grows; nothing else
waits for it. Killed at any instant, the next one goes on at the position that was committed last.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..configs.logger import Logger
from ..scheduler.engine.engine import Engine
from ..scheduler.engine.journal_following import Follower, Page, Position
from ..scheduler.model.errors import QueueUnavailable
from .book import Book
from .errors import LedgerRefused, LedgerUnavailable, NotConsumer, RowsRefused
from .fetching import Fetching
from .reconciling import Living
from .retention import ALL, Kept, Retention
from .trimming import KEPT_SECONDS, Trimming
from .waits.summing import Summing
from .write_signs import SIGNED_MS, WriteSigns

_log: Final = Logger("bandmaster.ledger")
ENTRIES_A_PAGE: Final = 1_000
WAIT_MS: Final = 1_000
FIRST_PAUSE_SECONDS: Final = 0.25
LAST_PAUSE_SECONDS: Final = 10.0


class _ToldToEnd(Exception):
    """The process is to end, in the middle of a step that may take minutes."""


class Consumer:
    """One process's candidacy and work as the consumer. Its methods are called by one thread."""

    def __init__(
        self,
        engine: Engine,
        book: Book,
        *,
        keep_payloads: bool = True,
        keep_messages: bool = False,
        kept: Kept = ALL,
        keep_journal_seconds: int = KEPT_SECONDS,
        summing: Summing | None = None,
        take_seconds: float = 3.0,
    ) -> None:
        """Makes no call.

        Args:
            engine: The queue whose journal is read.
            book: The ledger that is written.
            keep_payloads: Whether the ledger keeps what executions need to run.
            keep_messages: Whether also the messages of gated actors.
            kept: How much stays in the ledger.
            keep_journal_seconds: How long an entry stays in Redis that the ledger has.
            summing: Sums the waits that have ended, between the pages; None: nobody does.
            take_seconds: How long to wait between two tries to become the consumer.
        """
        self._engine = engine
        self._book = book
        self._follower = Follower(engine.scripts)
        self._fetching = Fetching(engine, keep_payloads=keep_payloads, keep_messages=keep_messages)
        self._living = Living(engine, self._fetching)
        self._retention = Retention(book, kept)
        self._trimming = Trimming(self._follower, keep_seconds=keep_journal_seconds)
        self._signs = WriteSigns(engine.scripts)
        self._signed_ms = 0
        self._summing = summing
        self._take_seconds = take_seconds
        self._consumes = False
        self._position: Position | None = None
        self._is_unsure = True
        self._has_read_all = False
        self._entries_a_page = ENTRIES_A_PAGE
        self._after_page: Callable[[], None] = lambda: None

    @property
    def consumes(self) -> bool:
        """Whether this process is the consumer, as far as it knows. Any thread may ask."""
        return self._consumes

    @property
    def has_read_all(self) -> bool:
        """Whether it has written all that the journal had when it looked last, and nothing is unsure. As `consumes`."""
        return self._consumes and self._has_read_all

    def run(self, stop: threading.Event, after_step: Callable[[], None] = lambda: None) -> None:
        """Consume until `stop` is set.

        Args:
            stop: Ends the work; what is being written is finished.
            after_step: Called after each step, whether it succeeded or not, and after each page of a long one.
        """

        def after_page() -> None:
            after_step()
            if stop.is_set():
                raise _ToldToEnd

        self._after_page = after_page
        pause_seconds = FIRST_PAUSE_SECONDS
        while not stop.is_set():
            try:
                if self._consumes or self.begin():
                    if self.step() == 0:
                        self._wait()
                else:
                    stop.wait(self._take_seconds)
                pause_seconds = FIRST_PAUSE_SECONDS
            except _ToldToEnd:
                _log.info("step_given_up")
            except NotConsumer:
                _log.warning("consumer_lost")
                self._consumes = False
            except (LedgerUnavailable, LedgerRefused, QueueUnavailable) as error:
                # Whoever took a right or a table away may give it back.
                _log.warning("consumer_waits", error=str(error), pause_seconds=pause_seconds)
                # The commit's reply may be lost: only the database knows the position.
                self._consumes = False
                self._say_why(error)
                stop.wait(pause_seconds)
                pause_seconds = min(2 * pause_seconds, LAST_PAUSE_SECONDS)
            after_step()
        if self._consumes:
            try:
                self._book.resign()
            except LedgerUnavailable as error:
                _log.warning("resign_failed", error=str(error))

    def step(self) -> int:
        """Write one page of the journal, if there is anything to write.

        Returns:
            Over how many entries it went, with those that are damaged or were dropped; 0: there was none.

        Raises:
            NotConsumer: If another process has become the consumer.
            LedgerUnavailable: If the database does not answer.
            LedgerRefused: If it refuses, whatever the entries are.
            QueueUnavailable: If Redis does not answer.
        """
        assert self._position is not None
        page = self._follower.read(self._position, self._entries_a_page)
        now_ms = self._engine.views.server_time_ms()
        if page is None:
            self._follow_another(now_ms)
            return 0
        if page.position != self._position:
            page = self._write(page, now_ms)
            self._position = page.position
            if page.missed:
                self._is_unsure = True
                _log.warning("journal_gap", missed=page.missed, up_to=page.position.entry_id)
        else:
            self._book.renew()
        if page.ahead == 0 and self._is_unsure:
            self._reconcile(now_ms)
        self._has_read_all = page.ahead == 0 and not self._is_unsure
        self._trimming.step(self._position, now_ms)
        self._retention.step(now_ms)
        self._say_that_it_writes(now_ms)
        if self._summing is not None:
            self._summing.step(self._position, is_idle=page.ahead == 0)
        return page.passed

    def _write(self, page: Page, now_ms: int) -> Page:
        """Write a page, or as much of its beginning as the database takes.

        A page with an entry that makes rows which cannot stand is halved until the entry stands alone; then it is a
        gap. The pages that follow grow again.

        Returns:
            What was written, without such an entry.
        """
        while True:
            fetched = self._fetching.of(page.entries)
            if page.entries:
                page = page.cut(fetched.entries)
            try:
                self._book.write(page, fetched, now_ms)
            except RowsRefused as error:
                if not page.entries:
                    raise
                if len(page.entries) > 1:
                    self._entries_a_page = len(page.entries) // 2
                    page = page.cut(self._entries_a_page)
                    continue
                # What the database said of it may repeat its values.
                _log.warning("entry_refused", entry_id=page.entries[0].entry_id, error=type(error.__cause__).__name__)
                page = page.without_the_only_entry()
            else:
                self._entries_a_page = min(2 * self._entries_a_page, ENTRIES_A_PAGE)
                return page

    def begin(self) -> bool:
        """Become the consumer, and find out how far the journal was read.

        Returns:
            Whether this process consumes now; False: another one does.

        Raises:
            LedgerUnavailable: If the database does not answer.
            QueueUnavailable: If Redis does not answer.
        """
        if not self._book.take():
            return False
        self._position = self._book.position()
        if self._position is None:
            self._follow_another(self._engine.views.server_time_ms())
        self._is_unsure = self._book.is_unsure
        self._has_read_all = False
        if self._summing is not None:
            self._summing.begin()
        self._consumes = True
        _log.info("consumer_begins", position=self._position and self._position.entry_id)
        return True

    def _say_that_it_writes(self, now_ms: int) -> None:
        """Every few seconds, and at once after it could not."""
        if abs(now_ms - self._signed_ms) >= SIGNED_MS:
            self._signs.wrote(self._book.holder, now_ms)
            self._signed_ms = now_ms

    def _say_why(self, error: LedgerUnavailable | LedgerRefused | QueueUnavailable) -> None:
        """Say why it cannot write: a database that takes nothing cannot keep that itself."""
        self._signed_ms = 0
        if isinstance(error, QueueUnavailable):
            return
        try:
            self._signs.failed(self._book.holder, error.told)
        except QueueUnavailable as unheard:
            _log.debug("failure_not_told", problem=str(unheard))

    def _wait(self) -> None:
        """Wait for an entry, at most a second: the lease has to be renewed, and the process may be told to end."""
        assert self._position is not None
        wait_ms = WAIT_MS if self._summing is None else self._summing.wait_ms(WAIT_MS)
        self._follower.wait(self._position, wait_ms)

    def _follow_another(self, now_ms: int) -> None:
        before, name = self._position, self._follower.name()
        # A server restored from older data has a name that was followed, an emptied one has none. If the process dies
        # between the new name and its row, only those entries are known again that the ledger still has.
        was_followed = name is not None and self._book.has_followed(name)
        begun = self._follower.begin(before and before.incarnation)
        self._position = self._first_unread(begun, was_followed=was_followed)
        self._book.begin(self._position, now_ms)
        if self._summing is not None:
            self._summing.begin()
        self._is_unsure = True
        if before is not None:
            _log.warning("journal_replaced", read_up_to=before.entry_id)

    def _first_unread(self, position: Position, *, was_followed: bool) -> Position:
        """The position before the first entry that is not in the ledger: a restored server has some that are."""
        unread = position
        while (page := self._follower.read(position, ENTRIES_A_PAGE)) and page.passed:
            known = self._book.count_known(page.entries, was_followed=was_followed)
            # However long the journal is, this process stays the consumer.
            self._book.renew()
            self._after_page()
            if known:
                entry_id, count = page.entries[known - 1].entry_id, page.counts[known - 1]
                unread = replace(position, entry_id=entry_id, count=count)
            if page.entries and not known:
                break
            position = page.position
        return unread

    def _reconcile(self, now_ms: int) -> None:
        done = self._book.reconcile(self._living, now_ms, self._after_page)
        self._is_unsure = False
        _log.info("reconciled", taken_over=done.taken_over, lost=done.lost)
