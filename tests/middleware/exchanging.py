"""Threads that work as a worker's do, on one `Exchange` and the test's server: they begin what it starts and settle it.

Whoever interrupts them does so while they settle, leading or waiting, and never in what belongs to the test.
"""

import itertools
import queue
import random
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import redis
from dramatiq import threading as dramatiq_threading
from dramatiq.middleware import Interrupt

from bandmaster import BandedRedisBroker
from bandmaster.middleware.grants.asked import Asking, Settling
from bandmaster.middleware.grants.cancellation import forget_interrupt
from bandmaster.middleware.grants.exchange import Exchange
from bandmaster.middleware.grants.permits import LANES, Permits
from bandmaster.middleware.grants.table import GrantedMessage, GrantTable
from bandmaster.middleware.worker.work_queue import WorkQueue
from bandmaster.scheduler.engine.engine import Engine
from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.transport.scripts import DEADLINE_SECONDS, Scripts
from waiting import GENEROUS_SECONDS

LEASE_MS = 60_000
ASK_SECONDS = 0.02


class Interrupted(Interrupt):
    """As Dramatiq's time limits and its shutdown raise one in a thread."""


class Exchanged:
    """An exchange of some lanes, the threads behind it, and what they ran."""

    def __init__(
        self,
        broker: BandedRedisBroker,
        client: "redis.Redis",
        lanes: tuple[str, ...],
        threads: int,
        *,
        lease_ms: int = LEASE_MS,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self.held, self.permits, self.lanes = GrantTable(), Permits(), lanes
        self.permits.open(threads)
        self.scripts = Scripts(client, deadline_seconds=deadline_seconds)
        self.exchange = Exchange(
            Engine(self.scripts),
            broker,
            broker.bands.gated,
            self.held,
            self.permits,
            lanes=lambda: self.lanes,
            start=self._start,
            lease_ttl_ms=lease_ms,
        )
        self.started: WorkQueue[tuple[int, GrantedMessage]] = WorkQueue()
        self._numbers = itertools.count()
        self.after_start: Callable[[GrantedMessage], object] = lambda _: None
        """Done by who leads when it has passed a message to a thread."""
        self.runs: list[tuple[str, int]] = []
        """Id and attempt of each that began, in order."""
        self.codes: list[Code] = []
        """What became of the settlements."""
        self.most_behind = 0
        """The most grants at once that a thread was said to stand behind."""
        self.hits = 0
        """Settlements that were interrupted, each time."""
        self.failures: list[BaseException] = []
        self.stopped = threading.Event()
        self._threads = [_Thread(self) for _ in range(threads)]

    def _start(self, message: GrantedMessage) -> bool:
        self.most_behind = max(self.most_behind, sum(entry.has_permit for entry in self.held.all()))
        self.started.put((next(self._numbers), message))
        self.after_start(message)
        return True

    def ask(self, most: int | None = None) -> int:
        """Take what threads are free, and have them look for work; how many were started."""
        permits = self.permits.take(LANES, self.permits.total if most is None else most, 0, in_hand=True)
        return self.exchange.ask(Asking(lambda: self.lanes, permits)).started

    def taken(self) -> list[GrantedMessage]:
        """What was started and not taken yet."""
        messages: list[GrantedMessage] = []
        with suppress(queue.Empty):
            while True:
                messages.append(self.started.get_nowait()[1])
        return messages

    def begun(self) -> list[GrantedMessage]:
        """The same, whose bodies have begun in this thread, and ended."""
        messages = self.taken()
        for message in messages:
            assert self.held.begin(message.entry)
            self.held.end(message.entry)
        return messages

    @contextmanager
    def running(self) -> Generator[None]:
        """The threads run, and one that asks for all of them, as the pump does; none may be left at the end."""
        asking = threading.Thread(target=self._ask_on, daemon=True)
        threads: list[threading.Thread] = [asking, *self._threads]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stopped.set()
            for thread in threads:
                thread.join(GENEROUS_SECONDS)
        assert not any(thread.is_alive() for thread in threads), "a thread does not come to its end"
        assert self.failures == []

    def _ask_on(self) -> None:
        asking: Asking | None = None
        while not self.stopped.is_set():
            if asking is None:
                asking = Asking(
                    lambda: self.lanes, self.permits.take(LANES, self.permits.total, ASK_SECONDS, in_hand=True)
                )
            with suppress(QueueUnavailable):
                if not self.exchange.ask(asking).started:
                    time.sleep(ASK_SECONDS)
                asking = None

    def interrupt(self, draw: random.Random) -> None:
        """Raise an exception in one of the threads that settle now, if there is one."""
        settling = [thread for thread in self._threads if thread.settles]
        if settling:
            draw.choice(settling).interrupt()


class _Thread(threading.Thread):
    """One of a worker's."""

    def __init__(self, work: Exchanged) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._guard = threading.Lock()
        self.settles = False

    def interrupt(self) -> None:
        raising: Any = dramatiq_threading
        with self._guard:
            if self.settles:
                self.settles = False  # at most one each time: a second would strike who handles the first
                raising.raise_thread_exception(self.ident, Interrupted)

    def run(self) -> None:
        try:
            while not self._work.stopped.is_set():
                with suppress(queue.Empty):
                    self._process(self._work.started.get(timeout=ASK_SECONDS)[1])
        except BaseException as error:  # noqa: BLE001  # the test says what it was
            self._work.failures.append(error)

    def _process(self, message: GrantedMessage) -> None:
        entry, held = message.entry, self._work.held
        if not held.begin(entry):
            return  # handed back meanwhile
        grant = entry.grant
        self._work.runs.append((grant.execution_id, grant.attempt))
        held.end(entry)
        release = Release(grant.execution_id, grant.attempt, State.COMPLETED, grant.nonce, only=State.RUNNING)
        settling = Settling(release, entry)
        while not self._is_settled(settling):
            self._work.hits += 1
        assert settling.outcome is not None
        self._work.codes.append(settling.outcome.code)

    def _is_settled(self, settling: Settling) -> bool:
        try:
            try:
                self.settles = True
                self._work.exchange.settle(settling)
            finally:
                self._close()
        except Interrupted:
            self._close()
            return False
        except QueueUnavailable:
            return False
        return True

    def _close(self) -> None:
        # Nothing is raised here any more once it has the guard; what strikes before that is the settlement's.
        is_closed = False
        while not is_closed:
            with suppress(Interrupted), self._guard:
                self.settles = False
                forget_interrupt()
                is_closed = True
