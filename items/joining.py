"""``Claiming``: joins the claims of one process that wait at the same time into one transaction.

In the flow: routes call it in the event loop, when they know who asks and that it may. A claim that waits keeps no
thread: one thread runs the transaction of all that wait, and those that come meanwhile are the next. If the transaction
fails, each of its claims does, and the next are tried. A caller that goes away while its claim waits, or while the
database holds it up, claims nothing; of one that goes later the items are held until their lease ends, as if its answer
were lost: with the same key it gets them again. If the process ends meanwhile, the transaction was committed or it was
not.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from .bounds import MOST_JOINED
from .checks import check_fields
from .claiming import Claim, claim_all
from .model import Item
from .names import check_robot_id
from .store import Store

LONG_SECONDS: Final = 0.5
"""A claim that has waited so long may be of a caller that has hung up."""
ASKED_SECONDS: Final = 5.0
"""The event loop tells within that time who has gone, or nobody has."""


@dataclass(slots=True, eq=False)
class _Waiting:
    claim: Claim
    done: asyncio.Future[None]
    patience: asyncio.TimerHandle
    has_gone: Callable[[], Awaitable[bool]] | None
    since: float

    async def give_up_if_gone(self) -> None:
        """End it if nobody wants it any more. Of a short wait, nobody asks: that would cost each claim something."""
        if self.has_gone is None or asyncio.get_running_loop().time() - self.since < LONG_SECONDS:
            return
        if await self.has_gone():
            _give_up(self.done)


class Claiming:
    """Claims from one ledger."""

    def __init__(self, store: Store) -> None:
        """Makes no connection."""
        self._store = store
        # Of its own: whatever keeps the threads that routes share, claims go on.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="claiming")
        self._waiting: deque[_Waiting] = deque()
        self._running: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many wait for their transaction to begin."""
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is under way, or about to be."""
        return self._running is None

    def claim(self, claim: Claim) -> list[Item]:
        """Hand out items, in a transaction of its own. Safe to call from several threads.

        Raises:
            Exception: As `join` says, but for TimeoutError.
        """
        _check(claim)
        self._store.write(lambda connection: claim_all(connection, [claim]))
        return _gotten(claim)

    async def join(
        self, claim: Claim, *, patience_seconds: float, has_gone: Callable[[], Awaitable[bool]] | None = None
    ) -> list[Item]:
        """Hand out items, in one transaction with the claims that wait now. To be used from one event loop.

        Args:
            claim: What is wanted, and by whom.
            patience_seconds: How long it may wait for its transaction to begin.
            has_gone: Tells of one that has waited for `LONG_SECONDS` whether anybody still wants it.

        Returns:
            The items, in their order; none: nothing waits.

        Raises:
            QueueUnknown: If there is no such queue.
            QueueInactive: If it gives nothing.
            InvalidRequest: If the robot's name, the count or the lease is none.
            ClaimOver: If its key stands for items that are not held any more.
            LedgerError: If the database does not answer; items may have been handed out, and the same key gets them.
            TimeoutError: If the transactions before it have not ended in time, or who wanted it has gone; nothing was
                handed out.
        """
        _check(claim)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        patience = loop.call_later(patience_seconds, _give_up, done)
        self._waiting.append(_Waiting(claim, done, patience, has_gone, loop.time()))
        if self._running is None:
            self._running = loop.create_task(self._run())
        try:
            await done
        finally:
            patience.cancel()
        return _gotten(claim)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while together := await self._next():
                error: Exception | None = None
                try:
                    await loop.run_in_executor(self._thread, self._claim_all, together, loop)
                except _SomeHaveGoneError:
                    # The others are tried again, before those that came meanwhile.
                    self._waiting.extendleft(each for each in reversed(together) if not each.done.done())
                    continue
                except Exception as raised:  # noqa: BLE001  # whatever it is, each of them gets it
                    error = raised
                except BaseException:
                    # The event loop ends: nobody waits for what never comes.
                    for each in together:
                        each.done.cancel()
                    raise
                for each in together:
                    if each.done.done():
                        continue
                    if error is None:
                        each.done.set_result(None)
                    else:
                        each.done.set_exception(error)
        finally:
            self._running = None

    async def _next(self) -> list[_Waiting]:
        together, wanted = list[_Waiting](), 0
        while self._waiting and (not together or wanted + self._waiting[0].claim.count <= MOST_JOINED):
            first = self._waiting.popleft()
            await first.give_up_if_gone()
            # Whoever has gone, or was told that it takes too long, gets none.
            if not first.done.done():
                first.patience.cancel()
                wanted += first.claim.count
                together.append(first)
        return together

    def _claim_all(self, together: Sequence[_Waiting], loop: asyncio.AbstractEventLoop) -> None:
        begun = time.monotonic()

        def work(connection: Connection) -> None:
            claim_all(connection, [each.claim for each in together])
            # A database that hung, or was locked, may have outlasted their patience: then it is not committed.
            if time.monotonic() - begun >= LONG_SECONDS and _have_gone(together, loop):
                raise _SomeHaveGoneError

        self._store.write(work)


class _SomeHaveGoneError(Exception):
    """Of those whose claims are carried out, some want nothing any more."""


def _have_gone(together: Sequence[_Waiting], loop: asyncio.AbstractEventLoop) -> bool:
    """Ask in the event loop, from another thread, whether some have gone; a loop that ends is not waited for."""

    async def ask() -> bool:
        for each in together:
            await each.give_up_if_gone()
        return any(each.done.done() for each in together)

    if loop.is_closed():
        return False
    asking = asyncio.run_coroutine_threadsafe(ask(), loop)
    try:
        return asking.result(ASKED_SECONDS)
    except TimeoutError:
        asking.cancel()
        return False


def _check(claim: Claim) -> None:
    check_robot_id(claim.robot_id)
    check_fields({"count": claim.count})
    if claim.lease_seconds is not None:
        check_fields({"lease_seconds": claim.lease_seconds})


def _gotten(claim: Claim) -> list[Item]:
    if claim.refused is not None:
        raise claim.refused
    return claim.items


def _give_up(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_exception(TimeoutError())
