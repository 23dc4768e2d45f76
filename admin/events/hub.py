"""``Hub``: reads the journal once for all followers of a process, and hands each of them what it may see.

In the flow: while somebody follows, the journal is read ten times a second, and what came is sent to all as one batch:
what two hundred followers cost is sending, not reading. A follower that comes again reads what it missed from the
journal; if that is too much or not there any more, or if it reads too slowly, it is told to begin anew. If Redis does
not answer, followers wait. If the reading ends by an error that nobody thought of, those who follow notice within a
second, begin it again and are told to begin anew. There are only so many followers at a time.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from ...configs.logger import Logger
from ...ledger.trimming import KEPT_ENTRIES
from ...scheduler.engine.journal_following import Follower, Page, Position
from ...scheduler.model.errors import QueueUnavailable
from ..places import Places
from .told import DAMAGED, RESET, Told, told

_log = Logger(__name__)
MOST: Final = 1_000
"""How many follow at one process."""
MOST_OF_TOKEN: Final = 250
"""How many of them with one token."""
BATCH_SECONDS: Final = 0.1
MOST_MISSED: Final = KEPT_ENTRIES
"""How many entries a follower that comes again may have missed, which Redis has for as long as the ledger leaves them
there, and how many are kept for one that is slow."""
QUIET_SECONDS: Final = 1.0
_A_READ: Final = 1_000
_AGAIN_SECONDS: Final = 1.0

P = ParamSpec("P")
T = TypeVar("T")
Sees = Callable[[Told], bytes]
"""What of an entry a follower gets; ``b""``: nothing."""


class Hub:
    """All followers of one process. To be used from one event loop."""

    def __init__(self, follower: Follower, places: Places | None = None) -> None:
        """Makes no call. Args: `places`, of the followers; None: as many as are usual."""
        self.places = places or Places(MOST, MOST_OF_TOKEN)
        self._follower = follower
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="events")
        self._starting = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._position = Position("", "", 0)
        """Up to where the journal was read."""
        self._batches: deque[list[Told]] = deque()
        """What came last, an empty one where it was lost."""
        self._kept = 0
        """How many entries they have in all."""
        self._next = 0
        """The number of the batch that comes next; they are counted from 0."""

    async def follow(self, token_id: str, sees: Sees, after: Position | None) -> AsyncGenerator[bytes]:
        """Yield what happens from now on, or after a position, in pieces.

        The first piece comes at once. A piece is ``b""`` if there was nothing for a while.

        Args:
            token_id: Whose place it takes.
            sees: What of an entry this follower gets.
            after: Where it stopped.

        Raises:
            Refused: If too many follow.
            QueueUnavailable: If Redis does not answer at the beginning.
        """
        with self.places.place(token_id):
            await self._start()
            number, until = self._next, self._position
            yield b""
            if after is not None:
                async for piece in self._missed(sees, after, until):
                    yield piece
            while True:
                first = self._next - len(self._batches)
                if number < first:
                    # It took too long over what it got.
                    number = self._next
                    yield RESET
                elif number < self._next:
                    batch = self._batches[number - first]
                    number += 1
                    yield b"".join(map(sees, batch)) if batch else RESET
                else:
                    yield await self._pause()

    async def _start(self) -> None:
        async with self._starting:
            if self._reading is not None and not self._reading.done():
                return
            self._position = await self._look(self._follower.end)
            self._batches.clear()
            self._kept = 0
            # Nobody followed until now, or the reading failed: then whoever did has missed something.
            self._append([])
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(_say_failed)

    async def _pause(self) -> bytes:
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                await self._news.wait()
        except TimeoutError:
            try:
                await self._start()
            except QueueUnavailable as error:
                _log.warning("journal_not_read", problem=str(error))
        return b""

    async def _missed(self, sees: Sees, after: Position, until: Position) -> AsyncGenerator[bytes]:
        """What stands in the journal between two positions."""
        position = after
        if after.incarnation != until.incarnation or not 0 <= until.count - after.count <= MOST_MISSED:
            yield RESET
            return
        while position.count < until.count:
            try:
                page = await self._look(self._follower.read, position, min(_A_READ, until.count - position.count))
            except QueueUnavailable:
                await asyncio.sleep(_AGAIN_SECONDS)
                yield b""
                continue
            if page is None or page.missed or not page.entries:
                yield RESET
                return
            try:
                batch = _told(position, page)
            except DAMAGED as error:
                _log.error("journal_damaged", exc_info=error)
                yield RESET
                return
            yield b"".join(map(sees, batch))
            position = page.position

    async def _read(self) -> None:
        is_lost = False
        while self.places.taken:
            try:
                if is_lost:
                    self._position = await self._look(self._follower.end)
                    self._append([])
                    is_lost = False
                page = await self._look(self._follower.read, self._position, _A_READ)
                is_lost = page is None or page.missed > 0
                batch = [] if page is None else _told(self._position, page)
            except QueueUnavailable as error:
                _log.warning("journal_not_read", problem=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            except DAMAGED as error:
                # What is damaged is left out with all that was not read yet; one that is the last is read once more.
                _log.error("journal_damaged", exc_info=error)
                is_lost = True
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            if page is None or is_lost:
                _log.warning("followers_reset", missed=None if page is None else page.missed)
                continue
            self._position = page.position
            if batch:
                self._append(batch)
            if not page.ahead:
                await asyncio.sleep(BATCH_SECONDS)

    async def _look(self, read: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Read in a thread of this hub's own: nobody else's reads hold it up."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(read, *given, **named))

    def _append(self, batch: list[Told]) -> None:
        self._batches.append(batch)
        self._kept += len(batch)
        self._next += 1
        while self._kept > MOST_MISSED:
            self._kept -= len(self._batches.popleft())
        # Whoever waits goes on; whoever waits next waits for the next batch.
        self._news.set()
        self._news = asyncio.Event()


def _say_failed(reading: "asyncio.Task[None]") -> None:
    if reading.cancelled():
        _log.error("following_ended")
    elif (error := reading.exception()) is not None:
        _log.error("following_failed", exc_info=error)


def _told(before: Position, page: Page) -> list[Told]:
    """The entries of a page, each with the position after it."""
    return [
        told(entry, Position(before.incarnation, entry.entry_id, count))
        for entry, count in zip(page.entries, page.counts, strict=True)
    ]
