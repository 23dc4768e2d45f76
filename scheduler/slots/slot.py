"""``Slot``: one of the slots of a name, for a block of code: ``with slots.slot("core.http.get", limit=2):``.

In the flow: entering waits until a slot is granted, in the order in which it was asked for; leaving gives it back, and
the next one is woken in the same call. If the process dies in the block, the slot is free again after a lease.
"""

import asyncio
import threading
import weakref
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Final

from ...configs.logger import Logger
from ..model.states import State
from .attendant import Attendant
from .entry import Entry
from .errors import SlotTimeout

log = Logger(__name__)
WITHDRAWN_SECONDS: Final = 5.0
"""How long a wait that is over waits until nothing of it is left in Redis; later, that is done in the background."""


class HeldSlot:
    """A slot that is held: what ``with slot(…) as held:`` gives."""

    __slots__ = ("_entry", "waited_seconds")

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self.waited_seconds = entry.waited_seconds
        """How long it waited."""

    @property
    def execution_id(self) -> str:
        """The id under which `bandmaster show` and the ledger know it."""
        return self._entry.execution_id

    @property
    def is_lost(self) -> bool:
        """Whether its lease ran out, since this process was stopped or Redis lost it: another may hold it by now."""
        return self._entry.is_lost

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody asked for its end (`bandmaster cancel`). It is held until the block ends."""
        return self._entry.is_cancelled


class Slot:
    """A context manager, for `with` and `async with`. It may be entered again and again, by several threads too: each
    time takes a slot of its own.
    """

    def __init__(self, attendant: Attendant, name: str, limit: int | None, timeout_seconds: float) -> None:
        self._attendant = attendant
        self._name = name
        self._limit = limit
        self._timeout_seconds = timeout_seconds
        self._waiting: list[Entry] = []
        self._held: list[Entry] = []

    def __enter__(self) -> HeldSlot:
        """Wait for a slot.

        Raises:
            SlotTimeout: If none was free in time.
            SlotCancelled: If the wait was ended from outside.
            QueueFull: If too many wait already.
            QueueUnavailable: If Redis did not answer.
        """
        entry = self._begin(weakref.ref(threading.current_thread()))
        try:
            entry.answered.result()
            stops_loop = self._stops_loop(entry)
            with suppress(TimeoutError):
                entry.future.result(entry.timeout_seconds)
            if self._attendant.desk.give_up(entry):
                with suppress(TimeoutError):
                    entry.withdrawn.result(WITHDRAWN_SECONDS)
                raise self._timeout(entry, stopped_loop=stops_loop)
            return self._granted(entry)
        except BaseException:
            self._abandon(entry)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give the slot back."""
        self._attendant.release(self._end(error))

    async def __aenter__(self) -> HeldSlot:
        """Wait for a slot without blocking the event loop; as for `with`."""
        entry = self._begin(_this_task())
        try:
            await _is_done(entry.answered, None)
            await _is_done(entry.future, entry.timeout_seconds)
            if self._attendant.desk.give_up(entry):
                await _is_done(entry.withdrawn, WITHDRAWN_SECONDS)
                raise self._timeout(entry)
            return self._granted(entry)
        except BaseException:
            self._abandon(entry)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give the slot back without blocking the event loop."""
        entry = self._end(error)
        if self._attendant.desk.take_held(entry):
            self._attendant.desk.leave(entry)
            await _is_done(entry.withdrawn, WITHDRAWN_SECONDS)

    def __del__(self) -> None:
        # An exception that struck between the grant and the block: nobody else would give the slot back.
        for entry in [*self.__dict__.get("_waiting", ()), *self.__dict__.get("_held", ())]:
            self._attendant.desk.drop(entry)

    def _begin(self, taker: object) -> Entry:
        entry = Entry(self._name, self._limit, self._timeout_seconds, taker)
        self._waiting.append(entry)
        try:
            self._attendant.enter(entry)
        except BaseException:
            self._abandon(entry)
            raise
        return entry

    def _granted(self, entry: Entry) -> HeldSlot:
        entry.future.result()
        self._held.append(entry)
        self._waiting.remove(entry)
        return HeldSlot(entry)

    def _abandon(self, entry: Entry) -> None:
        for entries in (self._waiting, self._held):
            if entry in entries:
                entries.remove(entry)
        self._attendant.abandon(entry)

    def _end(self, error: BaseException | None) -> Entry:
        # All slots that are held are of one name, so that any of them may be the one that is given back here.
        entry = self._held.pop()
        entry.state = State.COMPLETED if error is None else State.FAILED
        return entry

    def _stops_loop(self, entry: Entry) -> bool:
        """Whether the wait that begins stops this thread's event loop, which is logged once for each name."""
        if entry.future.done() or not entry.timeout_seconds:
            return False
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        if self._attendant.note_stopped_loop(self._name):
            log.warning("slot_stops_event_loop", name=self._name, action="its tasks stand still: use `async with`")
        return True

    def _timeout(self, entry: Entry, *, stopped_loop: bool = False) -> SlotTimeout:
        own = [one for one in self._attendant.desk.holding() if one.name == entry.name and one.taker == entry.taker]
        return SlotTimeout(
            entry.name,
            waited_seconds=entry.waited_seconds,
            before=entry.before,
            held=entry.held,
            limit=entry.limit_in_force,
            holds_one=bool(own) and entry.taker is not None,
            stopped_loop=stopped_loop,
        )


def _this_task() -> object:
    # Weakly: what a forgotten task holds is given back when it is collected, with its slot.
    task = asyncio.current_task()
    return None if task is None else weakref.ref(task)


async def _is_done(future: "Future[None]", timeout_seconds: float | None) -> None:
    """Wait until a future is done, or so long; its outcome is not looked at, and it is never cancelled."""
    loop = asyncio.get_running_loop()
    signal: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not signal.done():
            signal.set_result(None)

    def tell_loop(_: "Future[None]") -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell)

    future.add_done_callback(tell_loop)
    await asyncio.wait([signal], timeout=timeout_seconds)
