"""What one worker process does for its lanes: boot, heartbeat, settling with the next admitted, hand-back at shutdown.

In the flow: consumers ask it whether they may admit and under which budget; ack and nack come to `settle`. From
`before_worker_shutdown` on, and while paused, nothing is admitted, not by a release either, and what has not begun is
handed back at once, since Dramatiq stops its threads before its consumers. If the process dies, its leases run out.
"""

import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import structlog
from dramatiq import Broker, Message, MessageProxy, Worker
from dramatiq.middleware import Middleware

from ..scheduler.errors import QueueRejected
from ..scheduler.transitions import NOTHING_NEXT, Next, Transitions
from .admissions import Admissions
from .bands import PriorityBands
from .budget import Budget
from .current import enter
from .errors import UNAVAILABLE
from .heartbeat import Heartbeat
from .held import Entry, GrantedMessage, Held
from .lists import Backlog, ListedMessage
from .liveness import Progress, revive
from .settlement import Settlement
from .upkeep import Upkeep

log = structlog.get_logger(__name__)
Enqueue = Callable[["Message[Any]", "int | None"], object]


class LaneProcess(Middleware):
    """The process's side of its lanes."""

    def __init__(
        self, transitions: Transitions, bands: PriorityBands, held: Held, lease_ttl_ms: int, enqueue: Enqueue
    ) -> None:
        self.budget = Budget()
        self.progress = Progress()
        self._held = held
        self._lease_ttl_ms = lease_ttl_ms
        self._enqueue = enqueue
        self._bands = bands
        self._admissions = Admissions(transitions, bands, held, lease_ttl_ms)
        self._settlement = Settlement(transitions)
        self._heartbeat = Heartbeat(transitions, held, lease_ttl_ms)
        self._upkeep = Upkeep(transitions.scripts)
        self._backlogs: dict[str, Backlog] = {}
        self._consumed_by: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._worker: Worker | None = None
        self._stopping = False

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """The threads of this worker are the budget."""
        self._worker, self._stopping = worker, False
        self._backlogs.clear()
        self.budget.open(worker.worker_threads)

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Leases are renewed from now on."""
        if self._bands.lanes:
            self._heartbeat.start(self._round)

    def before_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Admit nothing more, and hand back what has not begun."""
        self._stopping = True
        self._hand_back(self._held.take_unbegun())

    def after_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Everything has been settled or handed back; what has not runs out of its lease."""
        self.close()

    def close(self) -> None:
        """Stop the heartbeat."""
        self._heartbeat.stop()
        self.budget.open(0)
        self._worker, self._stopping = None, False

    @property
    def has_worker(self) -> bool:
        """Whether a worker runs here."""
        return self._worker is not None

    def is_halted(self, queue_name: str) -> bool:
        """Whether nothing may be admitted from this queue now: the worker stops, or is paused."""
        consumer = self._worker.consumers.get(queue_name) if self._worker else None
        return self._stopping or (consumer is not None and consumer.paused)

    def backlog(self, queue_name: str) -> Backlog:
        """What was fetched from a queue's list; it outlives the consumer."""
        return self._backlogs.setdefault(queue_name, Backlog(queue_name))

    def is_first_consumer(self) -> bool:
        """Whether the calling thread consumes for the first time; after an error it does so again."""
        thread = threading.current_thread()
        is_first = thread not in self._consumed_by
        self._consumed_by.add(thread)
        return is_first

    def look_after(self, prefetch: int) -> None:
        """What a consumer sees to in each of its rounds, for the heartbeat may have died too.

        Args:
            prefetch: Whose number is the budget where no worker runs.
        """
        if not self._heartbeat.is_running and not self._stopping:
            self._heartbeat.start(self._round)
        if not self.budget.total:
            self.budget.open(prefetch)

    def _round(self) -> None:
        worker = None if self._stopping else self._worker
        if worker is not None:
            for consumer in revive(worker, self._abandon_thread):
                self._consumed_by.add(consumer)
        self.progress.note()
        if worker is not None:
            self._upkeep.round()

    def stuck(self, seconds: float) -> list[str]:
        """The names of the heartbeat and the consumers that have not gone round for so long, unless told not to."""
        consumers = list(self._worker.consumers.values()) if self._worker else []
        threads: list[threading.Thread] = [each for each in consumers if each.running and not each.paused]
        return self.progress.stuck([*threads, *filter(None, [self._heartbeat.thread])], seconds)

    def enter(self, message: MessageProxy) -> None:
        """This thread begins to work on a message: hooks first, then its body."""
        enter(message.entry if isinstance(message, GrantedMessage) else None)
        if isinstance(message, ListedMessage):
            message.thread_id = threading.get_ident()

    def admit(self, broker: Broker, lane: str, permits: int) -> tuple[list[GrantedMessage], int | None]:
        """Admit up to as many of a lane as the caller has permits; those that are not needed are given back.

        Returns:
            The messages, and in how many ms to ask again at the latest, if that is known.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        started: list[GrantedMessage] = []
        try:
            admitted = self._admissions.admit(broker, lane, permits)
            for message in admitted.messages[:permits]:
                message.entry.has_permit = True
                started.append(message)
        finally:
            self.budget.give(lane, permits - len(started))
        self.hand_back_messages(admitted.messages[permits:])
        return started, admitted.wait_ms

    def settle(self, broker: Broker, message: GrantedMessage) -> None:
        """Give the slot of a message that ended back, and hand what is admitted next to this worker's threads.

        Raises:
            QueueUnavailable: If Redis did not answer; call again, it takes effect once.
        """
        entry = message.entry
        if not self._held.has(entry):
            return  # handed back before it began
        if entry.stale:
            self._let_go(entry)
            return
        self._send_unsent(entry)
        gated = self._bands.gated.get(message.actor_name)
        settled = self._settlement.settle(broker, gated, message, entry, self._following(entry))
        granted = self._admissions.open(broker, entry.lane, settled.grants, entry.settlement_sent)
        # If it was handed back in this very moment, its permit went with it.
        if self._held.drop(entry) and entry.has_permit:
            if granted:
                granted[0].entry.has_permit = True
            else:
                self.budget.give(entry.lane)
        for each in granted:
            self._start(each)

    def _send_unsent(self, entry: Entry) -> None:
        while entry.unsent:
            with suppress(QueueRejected):  # logged and buried where it was refused
                self._enqueue(*entry.unsent[0])
            entry.unsent.pop(0)

    def _following(self, entry: Entry) -> Next:
        # Another party that waits for a thread gets this one: lanes and plain queues share them.
        if self._worker is None or self.is_halted(entry.lane) or self.budget.passes_on(entry.lane):
            return NOTHING_NEXT
        return Next(entry.lane, 1, self._lease_ttl_ms)

    def _start(self, message: GrantedMessage) -> None:
        # Straight to the work queue: the consumer may sit in BLPOP.
        consumer = self._worker.consumers.get(message.queue_name) if self._worker else None
        if consumer is None or self.is_halted(message.queue_name) or not message.entry.has_permit:
            self.hand_back_messages([message])
        else:
            consumer.handle_message(message)

    def abandon(self, message: MessageProxy) -> None:
        """No thread stands behind a message any more, and its lease, if it has one, may run out."""
        if isinstance(message, GrantedMessage):
            self._let_go(message.entry)
        elif isinstance(message, ListedMessage):
            backlog = self.backlog(message.list_name)
            if backlog.outstanding.pop(id(message), None) is not None and message.has_permit:
                self.budget.give(backlog.party)

    def _abandon_thread(self, thread_id: int) -> None:
        for entry in self._held.of_thread(thread_id):
            self._let_go(entry)
        for backlog in list(self._backlogs.values()):
            for message in list(backlog.outstanding.values()):
                if message.thread_id == thread_id:
                    self.abandon(message)

    def _let_go(self, entry: Entry) -> None:
        if self._held.drop(entry) and entry.has_permit:
            self.budget.give(entry.lane)

    def _hand_back(self, entries: Iterable[Entry]) -> None:
        # These were taken out of the table, so their permits are this call's to give back.
        entries = list(entries)
        for entry in entries:
            if entry.has_permit:
                self.budget.give(entry.lane)
        try:
            self._settlement.hand_back(entries)
        except UNAVAILABLE as error:
            log.warning("hand_back_failed", count=len(entries), error=str(error))

    def hand_back_lane(self, lane: str) -> None:
        """Give back all of a lane that has not begun."""
        self._hand_back(self._held.take_unbegun(lane))

    def hand_back_messages(self, messages: Iterable[MessageProxy]) -> None:
        """Give back the granted ones among messages that were not begun."""
        self._hand_back(m.entry for m in messages if isinstance(m, GrantedMessage) and self._held.drop(m.entry))
