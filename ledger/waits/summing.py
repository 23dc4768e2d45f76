"""``Summing``: adds the waits that have ended to their sums, behind the writer of the journal and out of its way.

In the flow: the consumer calls `step` after each of its pages. How far waits are summed stands in SQL and is written in
the transaction of the sums, as the consumer: killed at any instant, the next consumer goes on there, and each wait is
summed once. To attribute one takes milliseconds, so a round is short, and rounds have a share of the time: a small one
while the writer has work. Who falls too far behind attributes some of the waits, evenly spread, and counts the others.

What was never changed is as Redis has it now. So what holds now is read first, and its waits are attributed when the
ledger has read the journal up to that moment: else a change between the two would count for the time before it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...configs.logger import Logger
from ...scheduler.engine.engine import Engine
from ...scheduler.engine.journal_following import Follower, Position
from ...scheduler.keys import DEFAULT_LANE
from ..book import Book
from ..errors import LedgerRefused
from ..schema.tables import wait_positions
from ..statements import put
from .attributing_ended import Attributing
from .ended import Ended, Owner, Page, Place, owner_of, owners_of, page_after, positions
from .in_force import InForce, in_force_by_lane
from .sharing import SharedHolds
from .sums import Counted, WaitSums, write_sums
from .telling import Waited

_log: Final = Logger("bandmaster.ledger")
SUMS_AN_HOUR: Final = 500
BEHIND_MS: Final = 600_000
"""So far behind the journal, not every wait is attributed."""
ROUND_SECONDS: Final = 0.05
"""A round begins no wait after that."""
WAITS_A_PAGE: Final = 200
"""So many of a page are attributed at most."""
ROWS_A_PAGE: Final = 2_000
_ROWS_BEHIND: Final = 20_000
_IDLE: Final = 3
"""After a round, so many times as long is for others."""
_BUSY: Final = 40
"""Likewise, while the writer has entries to read."""
_LOOK_SECONDS: Final = 1.0
_REFUSED_SECONDS: Final = 60.0


@dataclass(slots=True)
class _Work:
    """A page of waits, and what held when it was read."""

    page: Page
    owners: dict[str, Owner]
    chosen: list[Ended]
    """Those that are to be attributed, in the order in which they are."""
    is_sample: bool
    now: dict[str, InForce]
    readable_at: Position
    """The journal's end at that time."""
    shared: SharedHolds


class Summing:
    """Sums the waits of one ledger. Its methods are called by the consumer's thread."""

    def __init__(
        self,
        engine: Engine,
        book: Book,
        *,
        most: int = SUMS_AN_HOUR,
        round_seconds: float = ROUND_SECONDS,
        behind_ms: int = BEHIND_MS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes no call.

        Args:
            engine: The queue.
            book: The ledger as the consumer writes it.
            most: How many sums of an hour have names, by each.
            round_seconds: How long a round may attribute waits.
            behind_ms: How far behind the journal every wait is still attributed.
            clock: Seconds that only grow.
        """
        self._engine = engine
        self._book = book
        self._follower = Follower(engine.scripts)
        self._most = most
        self._round_seconds = round_seconds
        self._behind_ms = behind_ms
        self._clock = clock
        self._next_at = clock()
        self._work: _Work | None = None

    def begin(self) -> None:
        """Go on at the position in SQL: another process may have summed waits meanwhile."""
        self._work = None

    def wait_ms(self, most_ms: int) -> int:
        """How long the consumer may wait for an entry, if there are none: less, if waits are to be summed."""
        if self._work is None:
            return most_ms
        return min(most_ms, max(1, int(1000 * (self._next_at - self._clock()))))

    def step(self, position: Position, *, is_idle: bool) -> int:
        """Do a round, if it is time for one.

        Args:
            position: How far the ledger has the journal, committed.
            is_idle: Whether that was all of it.

        Returns:
            How many waits were counted.

        Raises:
            NotConsumer: If another process has become the consumer. Nothing was written.
            LedgerUnavailable: If the database does not answer.
            QueueUnavailable: If Redis does not answer.
        """
        begun = self._clock()
        if begun < self._next_at:
            return 0
        try:
            counted = self._round(position, begun)
        except LedgerRefused as error:
            # The journal has to be read on, whatever becomes of the sums.
            _log.warning("waits_not_summed", error=str(error))
            self._work, self._next_at = None, self._clock() + _REFUSED_SECONDS
            return 0
        took = self._clock() - begun
        pause = took * (_IDLE if is_idle else _BUSY)
        self._next_at = self._clock() + (pause if self._work is not None else max(pause, _LOOK_SECONDS))
        return counted

    def _round(self, position: Position, begun: float) -> int:
        work = self._work
        if work is not None and work.readable_at.incarnation != position.incarnation:
            # Another server: what held in the one before is of no use.
            self._work = work = None
        if work is None:
            self._work = self._look(position)
            return 0
        if position.count < work.readable_at.count:
            return 0
        told = self._attribute(work, begun)
        if work.is_sample or len(told) == len(work.chosen):
            until, left = work.page.until, []
        else:
            until, left = work.chosen[len(told) - 1].place, work.chosen[len(told) :]
        counted = self._write(work, told, until)
        if left:
            self._work = replace(work, page=replace(work.page, since=until), chosen=left)
        else:
            # If there is more, it is looked at without a pause.
            self._work = self._look(position) if work.page.is_full else None
        return counted

    def _look(self, position: Position) -> _Work | None:
        """Read the next page; None: there is none."""
        with self._book.reading() as connection:
            page = None
            for since in positions(connection):
                page = page_after(connection, since, ROWS_A_PAGE)
                if page is not None:
                    break
            if page is None:
                return None
            is_sample = int(position.entry_id.partition("-")[0]) - page.until.entry_ms > self._behind_ms
            if is_sample:
                page = page_after(connection, page.since, _ROWS_BEHIND) or page
            elif len(page.ended) > WAITS_A_PAGE:
                ended = page.ended[:WAITS_A_PAGE]
                page = Page(page.since, ended[-1].place, ended, is_full=True)
            owners = owners_of(connection, page.ended)
        chosen = spread(page.ended, WAITS_A_PAGE) if is_sample else page.ended
        lanes = {owner.lane or DEFAULT_LANE for each in chosen if (owner := owner_of(each, owners))}
        now = in_force_by_lane(self._engine, sorted(lanes))
        shared = SharedHolds(max((each.at_ms for each in chosen), default=0))
        return _Work(page, owners, chosen, is_sample, now, self._follower.end(), shared)

    def _attribute(self, work: _Work, begun: float) -> list[Waited | Counted]:
        """Attribute waits as long as there is time, at least one."""
        told: list[Waited | Counted] = []
        with self._book.reading() as connection:
            attributing = Attributing(connection, work.chosen, work.owners, work.now, work.shared)
            for ended in work.chosen:
                if told and self._clock() - begun > self._round_seconds:
                    break
                told.append(attributing.waited(ended))
        return told

    def _write(self, work: _Work, told: Sequence[Waited | Counted], until: Place) -> int:
        sums = WaitSums()
        done, passed_over = work.chosen[: len(told)], list[Ended]()
        if work.is_sample:
            left_out = set(work.page.ended).difference(done)
            passed_over = [each for each in work.page.ended if each in left_out]
        with self._book.writing() as connection:
            if work.page.since not in positions(connection):
                return 0  # somebody else has summed them, as this process was the consumer twice
            # A user may have been forgotten since: whoever does that waits for this transaction, or it sees that.
            owners = owners_of(connection, [*done, *passed_over])
            for ended, waited in zip(done, told, strict=True):
                sums.add(waited, ended.at_ms, owner_of(ended, work.owners), owner_of(ended, owners))
            for ended in passed_over:
                counted = Counted.PASSED_OVER if ended.is_wait_for_certain else Counted.NO_WAIT
                sums.add(counted, ended.at_ms, None, owner_of(ended, owners))
            write_sums(connection, sums, self._most)
            moved = {"journal_id": until.journal_id, "entry_ms": until.entry_ms, "entry_number": until.entry_number}
            put(connection, wait_positions, [moved], keys=["journal_id"])
        return len(told) + len(passed_over)


def spread(ended: Sequence[Ended], most: int) -> list[Ended]:
    """Some of them, evenly spread, and in such an order that the first of these are so, too, however many they are."""
    count = min(most, len(ended))
    digits = max(1, (count - 1).bit_length())
    # The digits of 0, 1, 2 … the other way round, as a fraction: a half, a quarter, three quarters, an eighth …
    reversed_digits = (int(f"{number:0{digits}b}"[::-1], 2) for number in range(2**digits))
    in_order = dict.fromkeys(each * count // 2**digits for each in reversed_digits)
    return [ended[(2 * number + 1) * len(ended) // (2 * count)] for number in in_order] if count else []
