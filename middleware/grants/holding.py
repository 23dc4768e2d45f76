"""Settles, hands back or lets go of the grants that one worker holds.

In the flow: ack and nack settle here; at a pause or shutdown, grants that have not begun are handed back. The code that
takes an entry out of the grant table owns its permit, and gives it back or passes it on. If the process dies, its
leases run out.
"""

from collections.abc import Iterable

from dramatiq import Broker, MessageProxy

from ...configs.logger import Logger
from ...scheduler.engine.grants import Code
from ..intake.gated_actors import GatedActors
from .asked import Settling
from .exchange import Exchange
from .results import store_unstored
from .settlement import settlement_of
from .table import Entry, GrantedMessage, GrantTable
from .unsent import Enqueue, send_unsent

log = Logger(__name__)


class Holding:
    """The grants of one worker. Safe to share between threads."""

    def __init__(self, held: GrantTable, gated: GatedActors, exchange: Exchange, enqueue: Enqueue) -> None:
        """Work on the grants of one table.

        Args:
            held: The grant table.
            gated: The gated actors, whose options say how their ends are settled.
            exchange: Gives slots back and takes others.
            enqueue: Sends the messages that hooks could not send.
        """
        self._held = held
        self._gated = gated
        self._exchange = exchange
        self._enqueue = enqueue

    def settle(self, broker: Broker, message: GrantedMessage) -> None:
        """Settle a message that ended and give its slot back; the next execution has been started when this returns.

        Raises:
            QueueUnavailable: If Redis did not answer, or its data is damaged; call again, it takes effect once.
        """
        entry = message.entry
        if not self._held.has(entry):
            return  # handed back before it began
        if entry.stale and entry.settling is None:
            self._exchange.let_go(entry)
            return
        # A settlement that was sent before may have taken effect (so the grant is stale): its answer holds new grants.
        store_unstored(entry)
        send_unsent(entry, self._enqueue)
        if entry.settling is None:
            gated = self._gated.get(message.actor_name)
            entry.settling = Settling(settlement_of(broker, gated, message, entry), entry)
        outcome = self._exchange.settle(entry.settling)
        entry.settling = None  # break the reference cycle, which would be left to the garbage collector
        # A grant whose execution is not known any more is as stale as one that was superseded.
        if outcome.code in (Code.STALE, Code.UNKNOWN):
            log.warning("settlement_refused", execution_id=entry.grant.execution_id, attempt=entry.grant.attempt)

    def let_go(self, entry: Entry) -> None:
        """Drop a grant that no thread runs any more; its lease may run out."""
        self._exchange.let_go(entry)

    def forget_permits(self) -> None:
        """Take the permits off all entries: bodies that an earlier worker still runs use no thread of the next one."""
        for entry in self._held.all():
            entry.has_permit = False

    def let_go_of_thread(self, thread_id: int) -> None:
        """Drop the grants of a thread that died."""
        for entry in self._held.of_thread(thread_id):
            self._exchange.let_go(entry)

    def hand_back_unbegun(self, lane: str | None = None) -> None:
        """Hand back all grants that have not begun, of one lane or of all."""
        self._exchange.hand_back(lambda: self._held.take_unbegun(lane))

    def hand_back(self, messages: Iterable[MessageProxy]) -> None:
        """Hand back the grants of messages that have not begun; messages without a grant are ignored."""
        entries = [message.entry for message in messages if isinstance(message, GrantedMessage)]
        self._exchange.hand_back(lambda: [entry for entry in entries if self._held.drop(entry)])
