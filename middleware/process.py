"""What one worker process does for its lanes: boot, heartbeat, settling with the next admitted, hand-back at shutdown.

In the flow: consumers ask it whether they may admit and under which budget; ack and nack come to `settle`. From
`before_worker_shutdown` on, and while paused, nothing is admitted, not by a release either, and what has not begun is
handed back at once, since Dramatiq stops its threads before its consumers. If the process dies, its leases run out.
"""

import time
from collections.abc import Iterable

import structlog
from dramatiq import Broker, Message, MessageProxy, Worker
from dramatiq.errors import DecodeError
from dramatiq.middleware import Middleware

from ..scheduler.errors import InvalidRequest, QueueUnavailable
from ..scheduler.grants import Grant
from ..scheduler.states import State
from ..scheduler.transitions import NOTHING_NEXT, Next, Transitions
from .bands import PriorityBands
from .budget import Budget
from .grant_message import message_of
from .heartbeat import Heartbeat
from .held import Entry, GrantedMessage, Held
from .settlement import Settlement

log = structlog.get_logger(__name__)


class LaneProcess(Middleware):
    """The process's side of its lanes."""

    def __init__(self, transitions: Transitions, bands: PriorityBands, held: Held, lease_ttl_ms: int) -> None:
        self.budget = Budget()
        self.held = held
        self.lease_ttl_ms = lease_ttl_ms
        self._transitions = transitions
        self._bands = bands
        self._settlement = Settlement(transitions)
        self._heartbeat = Heartbeat(transitions, held, lease_ttl_ms)
        self._worker: Worker | None = None
        self._stopping = False

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """The threads of this worker are the budget."""
        self._worker, self._stopping = worker, False
        self.budget.open(worker.worker_threads)

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Leases are renewed from now on."""
        if self._bands.gated:
            self._heartbeat.start()

    def before_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Admit nothing more, and hand back what has not begun."""
        self._stopping = True
        self.hand_back(self.held.take_unbegun())

    def after_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Everything has been settled or handed back."""
        self._heartbeat.stop()
        self._worker = None

    def is_halted(self, queue_name: str) -> bool:
        """Whether nothing may be admitted from this queue now: the worker stops, or is paused."""
        return self._stopping or self._is_paused(queue_name)

    def _is_paused(self, queue_name: str) -> bool:
        consumer = self._worker.consumers.get(queue_name) if self._worker else None
        return consumer is not None and consumer.paused

    def admit(self, lane: str, count: int) -> tuple[list[GrantedMessage], int | None]:
        """Admit up to `count` of a lane.

        Returns:
            The messages, and in how many ms to ask again at the latest, if that is known.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        sent = time.monotonic()
        admission = self._transitions.admit(lane, count, lease_ms=self.lease_ttl_ms, consumer=True)
        if not self._heartbeat.is_running:
            self._heartbeat.start()  # the first gated actor was declared after boot
        messages = [m for grant in admission.grants if (m := self._granted(grant, lane, sent)) is not None]
        return messages, 0 if admission.more else admission.wait_ms

    def settle(self, broker: Broker, message: GrantedMessage, *, failed: bool) -> None:
        """Give the slot of a message that ended back, and hand what is admitted next to this worker's threads.

        Raises:
            QueueUnavailable: If Redis did not answer; call again, it takes effect once.
        """
        entry, queue_name = message.entry, message.queue_name
        if entry.lost:
            self._let_go(entry)
            return
        if entry.settlement is None and not self.held.has(entry):
            return  # handed back before it began; its permit was given back then
        sent = time.monotonic()
        gated = self._bands.gated.get(message.actor_name)
        following = self._following(queue_name)
        settled = self._settlement.settle(broker, gated, message, entry, failed=failed, following=following)
        self.held.drop(entry)
        granted = [m for grant in settled.grants if (m := self._granted(grant, queue_name, sent)) is not None]
        if not granted:
            self.budget.give()
        for each in granted:
            self._start(each)

    def _following(self, lane: str) -> Next:
        # Another queue's consumer that waits for a thread gets this one: lanes and plain queues share them.
        if self._worker is None or self.is_halted(lane) or self.budget.others_wait(lane):
            return NOTHING_NEXT
        return Next(lane, 1, self.lease_ttl_ms)

    def _start(self, message: GrantedMessage) -> None:
        # Straight to the work queue: the consumer may sit in BLPOP.
        consumer = self._worker.consumers.get(message.queue_name) if self._worker else None
        if consumer is None or self.is_halted(message.queue_name):
            self.hand_back([message.entry] if self.held.drop(message.entry) else [])
        else:
            consumer.handle_message(message)

    def _granted(self, grant: Grant, lane: str, sent: float) -> GrantedMessage | None:
        try:
            message: Message[object] = message_of(grant, lane, self._bands.gated)
        except (InvalidRequest, DecodeError) as error:
            log.error("message_unreadable", execution_id=grant.execution_id, error=type(error).__name__)
            self._transitions.release(
                grant.execution_id, grant.attempt, State.FAILED, reason="message_unreadable", dead=True
            )
            return None
        return GrantedMessage(message, self.held.add(grant, lane, sent))

    def _let_go(self, entry: Entry) -> None:
        if self.held.drop(entry):
            self.budget.give()

    def hand_back(self, entries: Iterable[Entry]) -> None:
        """Give back what was taken out of the table unbegun, and its permits."""
        entries = list(entries)
        if not entries:
            return
        self.budget.give(len(entries))
        try:
            self._settlement.hand_back(entries)
        except QueueUnavailable as error:
            log.warning("hand_back_failed", count=len(entries), error=str(error))

    def hand_back_messages(self, messages: Iterable[MessageProxy]) -> None:
        """Give back the granted ones among messages that were not begun."""
        self.hand_back(m.entry for m in messages if isinstance(m, GrantedMessage) and self.held.drop(m.entry))
