"""Who waits for slots in this process, and who holds some.

In the flow: threads and tasks come and go here; the attendant's threads take from here what is to be done in Redis, and
put down what Redis says. No call is made under the lock. If the process dies, all of it is gone, and Redis ends it.
"""

import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Final

import uuid_utils

from ..engine.attending import SlotEnded, SlotGranted
from ..model.identifiers import SLOT_LANES, slot_execution_id
from ..model.states import State
from .entry import Entry
from .errors import SlotCancelled

ENDED_TOO_EARLY: Final = frozenset({"waiter_lost", "max_age"})
"""The reasons of ends that Redis wrote while this process seemed dead, or when the clock of its server leapt."""


CLOSED: Final = "closed"
"""The reason of an end if the process goes, or its slots were closed."""


class Desk:
    """The waits and slots of one process. Safe to share between threads."""

    def __init__(self) -> None:
        self.owner = str(uuid_utils.uuid7())
        """The name of this process in its executions' ids."""
        # Reentrant: a signal handler that takes a slot may interrupt a thread that holds the lock.
        self.changed = threading.Condition(threading.RLock())
        self.is_woken = False
        self.is_closed = False
        self.received: set[str] = set()
        """Executions whose news arrived, until Redis knows."""
        self._arriving: deque[Entry] = deque()
        self._sending: list[Entry] = []
        """Those of which Redis is being told: it may know them already."""
        self._waiting: dict[str, Entry] = {}
        self._holding: dict[str, Entry] = {}
        self._leaving: dict[str, Entry | None] = {}
        """Executions of which nothing is to be left; None for one that no entry of this process stands for."""
        self._dropped: deque[Entry] = deque()
        self._count = 0

    def enter(self, entry: Entry) -> None:
        """Begin to wait, behind all that entered before."""
        with self.changed:
            self._arriving.append(entry)
            self.changed.notify_all()

    def wake(self) -> None:
        """Note that Redis has something to say."""
        with self.changed:
            self.is_woken = True
            self.changed.notify_all()

    def give_up(self, entry: Entry) -> bool:
        """Wait no longer; False if the wait is over already: it holds a slot, or has failed."""
        with self.changed:
            if entry.future.done():
                return False
            entry.is_given_up = True
            if entry in self._arriving:
                self._arriving.remove(entry)
                _complete(entry.withdrawn)
            elif self._is_own(entry):
                self._waiting.pop(entry.execution_id, None)
                self._leaving[entry.execution_id] = entry
                self.changed.notify_all()
            return True

    def _is_own(self, entry: Entry) -> bool:
        # A forked child has its parent's entries, too; what they stand for stays the parent's.
        return entry.execution_id.startswith(f"{SLOT_LANES}{self.owner}:")

    def take_held(self, entry: Entry) -> bool:
        """Take a slot out, to give it back; False if it is lost, or another process's."""
        with self.changed:
            return self._holding.pop(entry.execution_id, None) is entry

    def leave(self, entry: Entry) -> None:
        """Have a slot given back that was taken out."""
        with self.changed:
            self._leaving[entry.execution_id] = entry
            self.changed.notify_all()

    def drop(self, entry: Entry) -> None:
        """Have an entry undone that nobody will use. Callable at any point of any thread: it takes no lock."""
        self._dropped.append(entry)

    def undo_dropped(self) -> None:
        """Undo what was dropped."""
        while self._dropped:
            entry = self._dropped.popleft()
            if not self.give_up(entry) and self.take_held(entry):
                entry.is_lost = True
                self.leave(entry)

    def take_arriving(self) -> list[Entry]:
        """Those that are to be sent, in their order, each under a new id."""
        with self.changed:
            arriving = list(self._arriving)
            self._arriving.clear()
            for entry in arriving:
                self._count += 1
                entry.execution_id = slot_execution_id(self.owner, self._count)
            self._sending = list(arriving)
            return arriving

    def note_sent(self, entry: Entry) -> None:
        """Redis has accepted it."""
        with self.changed:
            self._sending.remove(entry)
            if not entry.is_given_up:
                self._waiting[entry.execution_id] = entry
                self.changed.notify_all()  # whoever hears wake tokens may have found nobody waiting

    def fail(self, entry: Entry, error: Exception, *, may_be_there: bool = False) -> None:
        """It does not wait; `may_be_there`: Redis may have accepted it all the same."""
        with self.changed:
            self._sending.remove(entry)
            if may_be_there:
                self._leaving[entry.execution_id] = entry
            else:
                self._leaving.pop(entry.execution_id, None)
                _complete(entry.withdrawn)
            if not entry.is_given_up:
                entry.future.set_exception(error)
            _complete(entry.answered)

    def note_answered(self, entries: Iterable[Entry]) -> None:
        """Redis was asked for slots for these: who waits no longer than that is told."""
        for entry in entries:
            _complete(entry.answered)

    def hear(self, execution_id: str, news: SlotGranted | SlotEnded) -> None:
        """Take down what Redis says of an execution."""
        with self.changed:
            self.received.add(execution_id)
            if isinstance(news, SlotGranted):
                self._hear_granted(execution_id, news)
            else:
                self._hear_ended(execution_id, news)

    def _hear_granted(self, execution_id: str, news: SlotGranted) -> None:
        entry = self._waiting.pop(execution_id, None)
        if entry is not None:
            entry.attempt, entry.nonce = news.attempt, news.nonce
            self._holding[execution_id] = entry
            entry.future.set_result(None)
            _complete(entry.answered)
        elif execution_id not in self._holding:
            self._leaving.setdefault(execution_id, None)  # given up, or nobody's

    def _hear_ended(self, execution_id: str, news: SlotEnded) -> None:
        held = self._holding.pop(execution_id, None)
        if held is not None:
            held.is_lost = True
        entry = self._waiting.pop(execution_id, None)
        if entry is None:
            return
        if news.reason in ENDED_TOO_EARLY:
            self._arriving.append(entry)
            return
        entry.future.set_exception(
            SlotCancelled(entry.name, execution_id=execution_id, state=news.state, reason=news.reason)
        )
        _complete(entry.answered)

    def send_again(self, execution_ids: Iterable[str]) -> int:
        """Send again what Redis has lost, in its order; return how many."""
        with self.changed:
            lost = [entry for each in execution_ids if (entry := self._waiting.pop(each, None)) is not None]
            self._arriving.extendleft(reversed(lost))
            return len(lost)

    def note_withdrawn(self, execution_id: str) -> None:
        """Nothing of it is left in Redis."""
        with self.changed:
            entry = self._leaving.pop(execution_id, None)
        if entry is not None:
            _complete(entry.withdrawn)

    def note_lost(self, execution_id: str) -> Entry | None:
        """Its lease was lost; return it, if it is still held here."""
        with self.changed:
            entry = self._holding.pop(execution_id, None)
            if entry is not None:
                entry.is_lost = True
            return entry

    def waiting(self) -> list[Entry]:
        """Those that Redis knows to wait, in their order."""
        with self.changed:
            return list(self._waiting.values())

    def holding(self) -> list[Entry]:
        """Those that hold a slot."""
        with self.changed:
            return list(self._holding.values())

    def leaving(self) -> list[tuple[str, Entry | None]]:
        """Those that are to be undone in Redis."""
        with self.changed:
            return list(self._leaving.items())

    @property
    def has_work(self) -> bool:
        """Whether something is to be done at once. The caller holds the lock."""
        return bool(self.is_woken or self._arriving or self._leaving or self._dropped or self.is_closed)

    @property
    def is_waiting(self) -> bool:
        """Whether Redis knows of anybody who waits. The caller holds the lock."""
        return bool(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits and nobody holds anything. The caller holds the lock."""
        return not (self._arriving or self._sending or self._waiting or self._holding or self._leaving)

    def end_waits(self) -> None:
        """Fail all waits: the process goes, or its user wants no more."""
        with self.changed:
            for entry in [*self._arriving, *self._sending, *self._waiting.values()]:
                if self.give_up(entry):
                    error = SlotCancelled(
                        entry.name, execution_id=entry.execution_id, state=State.CANCELLED, reason=CLOSED
                    )
                    entry.future.set_exception(error)
                    _complete(entry.answered)
            for entry in self.holding():
                if self.take_held(entry):
                    entry.is_lost = True
                    self._leaving[entry.execution_id] = entry


def _complete(future: "Future[None]") -> None:
    if not future.done():
        future.set_result(None)
