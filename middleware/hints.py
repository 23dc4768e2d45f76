"""Plain brokers: the broker's message is a hint that an execution waits; the gate decides which one runs.

In the flow: on `RedisBroker`, RabbitMQ or `StubBroker`, `ConcurrencyGate` brings every message of a gated actor here.
What is admitted beyond the hint is dispatched through the broker with its grant; a message that may not run yet is
skipped, for it is parked. Order is exact up to the grants already handed out. If the process dies, its leases run out;
a hint lost with it is made good by the rounds of any worker.
"""

import time
from typing import Any

import structlog
from dramatiq import Broker, Message, MessageProxy, Worker
from dramatiq.errors import ConnectionClosed
from dramatiq.middleware import SkipMessage

from ..scheduler.errors import DuplicateExecution, InvalidRequest, QueueUnavailable
from ..scheduler.grants import Grant, Renewal
from ..scheduler.scripts import Scripts
from ..scheduler.transitions import NOTHING_NEXT, Next, Transitions
from ..scheduler.views import Views
from .bands import PriorityBands
from .delivery import DELIVERY_OPTIONS, as_sent
from .grant_message import message_of
from .heartbeat import Heartbeat
from .held import Entry, GrantedMessage, Held, current
from .mute import skip_silently
from .requests import GatedActor, read_message
from .settlement import Settlement

log = structlog.get_logger(__name__)
ROUND_SECONDS = 1.0


class SettlementPending(QueueUnavailable, ConnectionClosed):
    """Redis did not answer; Dramatiq tries the acknowledgement again."""

    def __init__(self, problem: str) -> None:
        QueueUnavailable.__init__(self, problem)


class Hints:
    """The gate's work on a broker whose queues are not pulled."""

    def __init__(self, scripts: Scripts, held: Held, lease_ttl_ms: int) -> None:
        self._transitions = Transitions(scripts)
        self._views = Views(scripts)
        self._settlement = Settlement(self._transitions)
        self._held = held
        self._lease_ttl_ms = lease_ttl_ms
        self._heartbeat = Heartbeat(self._transitions, held, lease_ttl_ms)
        self._stopping = False

    def start(self, broker: Broker, bands: PriorityBands, worker: Worker) -> None:
        """Start the rounds of this worker: renew, promote, reap, dispatch what may run and has no hint."""
        self._stopping = False

        def dispatch_waiting() -> None:
            for lane in {gated.lane for gated in bands.gated.values()} & worker.consumers.keys():
                idle = worker.worker_threads - len(self._held.all()) - worker.work_queue.qsize()
                if idle > 0 and not self._stopping:
                    for grant in self._transitions.admit(lane, idle, lease_ms=self._lease_ttl_ms, consumer=True).grants:
                        self._dispatch(broker, bands, lane, grant)

        self._heartbeat.start(dispatch_waiting, every_seconds=ROUND_SECONDS)

    def stop(self) -> None:
        """Admit nothing more; leases are still renewed while the worker drains."""
        self._stopping = True

    def close(self) -> None:
        """The worker has drained."""
        self._heartbeat.stop()

    def arrive(self, broker: Broker, bands: PriorityBands, message: MessageProxy) -> Entry:
        """A message of a gated actor reached a worker.

        Returns:
            The entry under which its body may run.

        Raises:
            SkipMessage: If it may not run now.
        """
        gated = bands.gated[message.actor_name]
        execution_id: str = message.options.get("execution_id", message.message_id)
        attempt = message.options.get("bandmaster_grant")
        if attempt is not None:
            return self._begin_dispatched(gated, message, execution_id, int(attempt))
        self._park_if_unknown(bands, gated, message, execution_id)
        if self._stopping:
            skip_silently(message)
        sent, entry = time.monotonic(), None
        for grant in self._transitions.admit(gated.lane, 1, lease_ms=self._lease_ttl_ms, consumer=True).grants:
            if grant.execution_id == execution_id:
                entry = self._held.add(grant, gated.lane, sent)
                self._take_stored(bands, gated, message, grant)
            else:
                self._dispatch(broker, bands, gated.lane, grant)
        if entry is None or not self._held.begin(entry):
            skip_silently(message)
        return entry

    def settle(self, broker: Broker, bands: PriorityBands | None, message: MessageProxy, *, failed: bool) -> None:
        """Settle what this thread ran, and dispatch what that admits, before the hint is acknowledged.

        Raises:
            SettlementPending: If Redis did not answer.
        """
        entry = current.entry
        if entry is None or bands is None or isinstance(message, GrantedMessage):
            return
        following = NOTHING_NEXT if self._stopping else Next(entry.lane, 1, self._lease_ttl_ms)
        if not entry.lost:
            gated = bands.gated.get(message.actor_name)
            try:
                settled = self._settlement.settle(broker, gated, message, entry, failed=failed, following=following)
            except QueueUnavailable as error:
                raise SettlementPending(str(error)) from error
            for grant in settled.grants:
                self._dispatch(broker, bands, entry.lane, grant)
        self._held.drop(entry)
        current.entry = None

    def _begin_dispatched(self, gated: GatedActor, message: MessageProxy, execution_id: str, attempt: int) -> Entry:
        sent = time.monotonic()
        (renewal,) = self._transitions.renew([(execution_id, attempt)])
        if renewal is Renewal.STALE:
            skip_silently(message)
        entry = self._held.add(Grant(execution_id, attempt, self._lease_ttl_ms, None, None), gated.lane, sent)
        self._held.begin(entry)
        return entry

    def _park_if_unknown(
        self, bands: PriorityBands, gated: GatedActor, message: MessageProxy, execution_id: str
    ) -> None:
        # A producer without our middleware has parked nothing.
        if self._views.meta(execution_id):
            return
        plain: Message[Any] = message._message  # pyright: ignore[reportPrivateUsage]  # the proxy has no other way
        sent = as_sent(plain)
        try:
            bands.transitions.park(read_message(gated, sent, int(time.time() * 1000), None))
        except DuplicateExecution:
            pass  # another copy of the hint was quicker
        except InvalidRequest as error:
            log.error("message_rejected", execution_id=execution_id, actor=gated.name, error=str(error))
            message.fail()
            raise SkipMessage(str(error)) from error

    def _take_stored(self, bands: PriorityBands, gated: GatedActor, message: MessageProxy, grant: Grant) -> None:
        # What Redis keeps is the truth: a retry has replaced the message since an old copy of its hint was sent.
        stamps = {name: message.options[name] for name in DELIVERY_OPTIONS if name in message.options}
        stored = message_of(grant, gated.lane, bands.gated)
        message._message = stored.copy(options=stamps)  # pyright: ignore[reportPrivateUsage]

    def _dispatch(self, broker: Broker, bands: PriorityBands, lane: str, grant: Grant) -> None:
        message = message_of(grant, lane, bands.gated)
        broker.enqueue(message.copy(options={"bandmaster_grant": grant.attempt}))
