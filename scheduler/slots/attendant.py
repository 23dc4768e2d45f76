"""The attendant: the threads of a process that serve all its waits for slots.

In the flow: one thread makes the calls (`rounds.py`), the other hears wake tokens, and wakes the first. Both begin with
the first wait, and sleep while nobody waits and nothing is held. If the process dies, Redis ends its waits and takes
its slots back after a lease; when it ends in order, it does so itself at once.
"""

import atexit
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import redis

from ...configs.logger import Logger
from ..engine.engine import Engine
from ..model.errors import BandmasterError, QueueUnavailable
from ..model.states import State
from ..transport.blocking import blocking_seconds
from ..transport.forks import anew_in_child
from .desk import CLOSED, Desk
from .entry import Entry
from .errors import SlotCancelled
from .rounds import ROUND_SECONDS, Rounds, release_of

log = Logger(__name__)
FAILED_PAUSE_SECONDS: Final = 0.2
"""The pause after a round that failed."""
CLOSING_SECONDS: Final = 5.0
"""How long an end in order waits for the last round."""


class Attendant:
    """Serves the waits and slots of one process on one queue. Safe to share between threads and across forks."""

    def __init__(self, engine: Engine, max_queue_length: int | None) -> None:
        """Makes no call, and begins no thread."""
        self._engine = engine
        self._max_queue_length = max_queue_length
        self._stopped_loops: set[str] = set()
        self._begin_anew()
        anew_in_child(self._begin_anew)
        _at_exit.add(self)

    def _begin_anew(self) -> None:
        # In a forked child: what the parent waits for and holds stays the parent's.
        self.desk = Desk()
        self._rounds = Rounds(self._engine, self.desk, self._max_queue_length)
        self._threads: dict[str, threading.Thread] = {}

    def enter(self, entry: Entry) -> None:
        """Begin to wait for a slot; never blocks for long.

        Raises:
            SlotCancelled: If it was closed.
        """
        with self.desk.changed:
            if self.desk.is_closed:
                raise SlotCancelled(entry.name, execution_id="", state=State.CANCELLED, reason=CLOSED)
            self._start_threads()
            self.desk.enter(entry)

    def note_stopped_loop(self, name: str) -> bool:
        """Note that a wait for a slot of this name stopped an event loop; False if that is known already."""
        is_new = name not in self._stopped_loops
        self._stopped_loops.add(name)
        return is_new

    def release(self, entry: Entry) -> None:
        """Give a slot back, which makes room in the same call. If Redis does not answer, that is repeated later."""
        if not self.desk.take_held(entry):
            return  # lost, or the parent's of this process
        try:
            self._engine.transitions.settle(release_of(entry))
        except QueueUnavailable as error:
            log.warning("slot_not_given_back", name=entry.name, execution_id=entry.execution_id, error=str(error))
            self.desk.leave(entry)

    def abandon(self, entry: Entry) -> None:
        """Have a wait ended, or its slot given back, in the background."""
        if not self.desk.give_up(entry) and self.desk.take_held(entry):
            self.desk.leave(entry)

    def close(self) -> None:
        """End all waits, give all slots back, and end the threads."""
        self.desk.end_waits()
        with self.desk.changed:
            self.desk.is_closed = True
            self.desk.changed.notify_all()
        if not self._threads:
            return
        with suppress(redis.RedisError):
            self._end_listening()
        for thread in self._threads.values():
            thread.join(CLOSING_SECONDS)

    def _end_listening(self) -> None:
        scripts = self._engine.scripts
        wake = scripts.keys.wake(f"slots:{self.desk.owner}")
        scripts.client.pipeline().rpush(wake, "1").expire(wake, int(CLOSING_SECONDS)).execute()

    def _start_threads(self) -> None:
        for name, work in (("bandmaster-slots", self._attend), ("bandmaster-slots-wake", self._listen)):
            thread = self._threads.get(name)
            if thread is None or not thread.is_alive():
                thread = threading.Thread(target=work, args=(self.desk, self._rounds), name=name, daemon=True)
                thread.start()
                self._threads[name] = thread

    def _attend(self, desk: Desk, rounds: Rounds) -> None:
        while True:
            with desk.changed:
                if desk.is_closed and desk.is_idle:
                    return
                due = rounds.due_in_seconds(waits=desk.is_waiting, holds=not desk.is_idle)
                if not desk.has_work:
                    # Something may be dropped without a sign, but only while somebody waits or holds.
                    desk.changed.wait(None if due is None else min(due, ROUND_SECONDS))
            desk.undo_dropped()
            # One after the other, and each whatever became of the others: a step that fails is repeated.
            done = [_done(step) for step in (rounds.renew, rounds.send, rounds.ask_if_due, rounds.withdraw)]
            if not all(done):
                if desk.is_closed:
                    return
                threading.Event().wait(FAILED_PAUSE_SECONDS)

    def _listen(self, desk: Desk, _: Rounds) -> None:
        while True:
            with desk.changed:
                while not desk.is_waiting and not desk.is_closed:
                    desk.changed.wait()
                if desk.is_closed:
                    return
            if not _done(lambda: self._hear(desk)):
                threading.Event().wait(FAILED_PAUSE_SECONDS)

    def _hear(self, desk: Desk) -> None:
        scripts = self._engine.scripts
        lanes = {entry.lane for entry in desk.waiting()}
        lists = [scripts.keys.wake(f"slots:{desk.owner}"), *(scripts.keys.wake(lane) for lane in sorted(lanes))]
        client: Any = scripts.client
        seconds = blocking_seconds(client, ROUND_SECONDS)
        if scripts.repeat(lambda: client.blpop(lists, timeout=seconds)):
            desk.wake()


def _done(step: Callable[[], None]) -> bool:
    try:
        step()
    except (BandmasterError, redis.RedisError) as error:
        log.warning("slots_round_failed", error=str(error))
        return False
    except Exception:  # the thread must outlive any one round
        log.exception("slots_round_failed")
        return False
    return True


_at_exit: Final["weakref.WeakSet[Attendant]"] = weakref.WeakSet()


def _close_all() -> None:
    for attendant in list(_at_exit):
        with suppress(RuntimeError):  # no thread can be waited for any more
            attendant.close()


atexit.register(_close_all)
