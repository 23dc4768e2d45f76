"""What one worker holds, from grant to end: started, settled with what is admitted next, handed back or let go.

In the flow: the pump's grants and those that come back with a release are started here, ack and nack settle here, and
what has not begun is handed back at a pause or at shutdown. Who takes an entry out of the held table owns its permit,
and gives it back or passes it on. If the process dies, its leases run out.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from dramatiq import Broker, Message, MessageProxy
from dramatiq.worker import ConsumerThread

from ..configs.logger import Logger
from ..scheduler.errors import QueueRejected
from ..scheduler.grants import Code
from ..scheduler.transitions import NOTHING_NEXT, Next
from .admissions import Admissions
from .bands import PriorityBands
from .budget import LANES, Budget
from .errors import UNAVAILABLE
from .held import Entry, GrantedMessage, Held
from .results import store_unstored
from .settlement import Settlement

log = Logger(__name__)
Enqueue = Callable[["Message[Any]", "int | None"], object]


class Holding:
    """The grants of one worker. Safe to share between threads."""

    def __init__(
        self,
        held: Held,
        budget: Budget,
        bands: PriorityBands,
        admissions: Admissions,
        settlement: Settlement,
        *,
        lanes: Callable[[], tuple[str, ...]],
        consumer_of: Callable[[str], ConsumerThread | None],
        enqueue: Enqueue,
        lease_ttl_ms: int,
    ) -> None:
        """Nothing is held yet.

        Args:
            held: The table.
            budget: The threads.
            bands: Knows the gated actors.
            admissions: From grants to messages.
            settlement: Of the same server.
            lanes: Those that may be admitted now.
            consumer_of: The consumer of a lane of which something may be started now.
            enqueue: Sends what hooks could not send.
            lease_ttl_ms: Of what is admitted next.
        """
        self._held = held
        self._budget = budget
        self._bands = bands
        self._admissions = admissions
        self._settlement = settlement
        self._lanes = lanes
        self._consumer_of = consumer_of
        self._enqueue = enqueue
        self._lease_ttl_ms = lease_ttl_ms

    def start(self, messages: Iterable[GrantedMessage]) -> None:
        """Pass messages to this worker's threads; those without a permit, or of a halted lane, are handed back."""
        refused: list[GrantedMessage] = []
        for message in messages:
            consumer = self._consumer_of(message.entry.lane) if message.entry.has_permit else None
            if consumer is None:
                refused.append(message)
            else:
                consumer.handle_message(message)
        if refused:
            self.hand_back(refused)  # together: a server that hangs costs one deadline

    def settle(self, broker: Broker, message: GrantedMessage) -> None:
        """Give the slot of a message that ended back, and start what is admitted next.

        Raises:
            QueueUnavailable: If Redis did not answer; call again, it takes effect once.
        """
        entry = message.entry
        if not self._held.has(entry):
            return  # handed back before it began
        if entry.stale and entry.settlement is None:
            self.let_go(entry)
            return
        # One that was sent may have taken effect, so that its grant is stale: its answer brings what it admitted.
        store_unstored(entry)
        self._send_unsent(entry)
        gated = self._bands.gated.get(message.actor_name)
        settled = self._settlement.settle(broker, gated, message, entry, self._following())
        # A grant whose execution is not known any more was overtaken like any stale one.
        if settled.code in (Code.STALE, Code.UNKNOWN):
            log.warning("settlement_refused", execution_id=entry.grant.execution_id, attempt=entry.grant.attempt)
        # If it was handed back in this very moment, its permit went with it.
        permits = int(self._held.drop(entry) and entry.has_permit)
        granted: list[GrantedMessage] = []
        try:
            granted = self._admissions.open(broker, settled.grants, entry.settlement_sent, permits=permits)
        finally:
            if not granted:
                self._budget.give(LANES, permits)
        self.start(granted)

    def _send_unsent(self, entry: Entry) -> None:
        while entry.unsent:
            with suppress(QueueRejected):  # logged and buried where it was refused
                self._enqueue(*entry.unsent[0])
            entry.unsent.pop(0)

    def _following(self) -> Next:
        # Another party that waits for a thread gets this one: lanes and plain queues share them.
        lanes = () if self._budget.passes_on(LANES) else self._lanes()
        return Next(lanes, 1, self._lease_ttl_ms) if lanes else NOTHING_NEXT

    def let_go(self, entry: Entry) -> None:
        """No thread stands behind a grant any more, and its lease may run out."""
        if self._held.drop(entry) and entry.has_permit:
            self._budget.give(LANES)

    def forget_permits(self) -> None:
        """What an earlier worker of this process still runs holds no thread of the next one."""
        for entry in self._held.all():
            entry.has_permit = False

    def let_go_of_thread(self, thread_id: int) -> None:
        """Let go of what a thread that died worked on."""
        for entry in self._held.of_thread(thread_id):
            self.let_go(entry)

    def hand_back_unbegun(self, lane: str | None = None) -> None:
        """Give back all that has not begun, of one lane or of all."""
        self._hand_back(self._held.take_unbegun(lane))

    def hand_back(self, messages: Iterable[MessageProxy]) -> None:
        """Give back the granted ones among messages that were not begun."""
        self._hand_back([m.entry for m in messages if isinstance(m, GrantedMessage) and self._held.drop(m.entry)])

    def _hand_back(self, entries: list[Entry]) -> None:
        # These were taken out of the table, so their permits are this call's to give back.
        self._budget.give(LANES, sum(entry.has_permit for entry in entries))
        try:
            self._settlement.hand_back(entries)
        except UNAVAILABLE as error:
            log.warning("hand_back_failed", count=len(entries), error=str(error))
