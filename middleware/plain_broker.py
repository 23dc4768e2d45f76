"""Gates actors on brokers whose lanes are not pulled: a message is a hint, and the gate decides which execution runs.

In the flow: on `RedisBroker`, RabbitMQ or `StubBroker` this is the first middleware. When a message of a gated actor
reaches a thread, it is parked, unless its producer did so. From then on it is only a hint for its lane: the thread runs
the lane's best execution in its place, so every later hook sees the execution that runs. If no execution may run, the
hint is skipped, since its own execution waits in Redis. No grant travels through the broker, so order is exact. If the
process dies, its leases run out, and the rounds of any worker replace the lost hints.
"""

import time
from typing import Any, Final, NoReturn, cast

import redis
from dramatiq import Broker, Message, MessageProxy, Worker
from dramatiq.middleware import Middleware, SkipMessage

from ..configs.logger import Logger
from ..scheduler.engine.engine import Engine
from ..scheduler.model.errors import QueueRejected, QueueUnavailable
from .bands import PriorityBands
from .errors import UNAVAILABLE, SettlementPending
from .grants.admission import Admissions
from .grants.asked import Settling
from .grants.context import current_entry, enter
from .grants.exchange import Exchange
from .grants.lease_renewal import LeaseRenewal
from .grants.permits import Permits
from .grants.results import store_unstored
from .grants.settlement import settlement_of
from .grants.suppress import skip_silently
from .grants.table import Entry, GrantTable
from .grants.unsent import send_unsent
from .intake.envelope import DELIVERY_OPTIONS, HINT, HintKind, copied, plain_message, replace_message
from .intake.execution_ids import delivery_of, digest, execution_id_of, named_id
from .worker.planning import Planning
from .worker.repairs import Repairs
from .worker.telling import Telling

log = Logger(__name__)
AGAIN_AFTER_MS: Final = 5_000
"""A hint comes again after this time if Redis did not answer."""

ENQUEUE_PAUSE_SECONDS: Final = 1.0


class Hints(Middleware):
    """The gate's work on a broker whose lanes are not pulled."""

    def __init__(
        self, broker: Broker, engine: Engine, bands: PriorityBands, held: GrantTable, lease_ttl_ms: int
    ) -> None:
        self._engine = engine
        self._bands = bands
        self._held = held
        self._lease_ttl_ms = lease_ttl_ms
        self._admissions = Admissions(engine, bands.gated, held, lease_ttl_ms)
        self._exchange = Exchange(
            engine,
            broker,
            bands.gated,
            held,
            Permits(),
            lanes=lambda: (),  # a settlement admits nothing: the next hint does
            start=lambda _: False,
            lease_ttl_ms=lease_ttl_ms,
        )
        self._heartbeat = LeaseRenewal(engine.transitions, held, lease_ttl_ms, self._round)
        self._upkeep = Repairs(engine)
        self._planning = Planning(engine)
        self._telling = Telling(engine, bands.gated, lease_ttl_ms)
        self._worker: Worker | None = None
        self._stopping = False

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Start the rounds of this worker: renew, promote, reap, send hints for executions that have none."""
        self._worker, self._stopping = worker, False
        self._heartbeat.rounds.start()

    def stop(self) -> None:
        """Stop admitting; leases are still renewed while the worker drains."""
        self._stopping = True

    def after_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Stop the threads: the worker has drained."""
        self._telling.stop()
        self._heartbeat.rounds.stop()

    def before_process_message(self, broker: Broker, message: MessageProxy) -> None:
        """Replace a gated actor's message, which is a hint, with the best execution of its lane.

        Raises:
            SkipMessage: If no execution may run now.
        """
        enter(None, message)
        gated = self._bands.gated.get(message.actor_name)
        if gated is None:
            return
        try:
            self._park_if_unknown(message)
            granted = None if self._stopping else self._admissions.admit(broker, gated.lane)
        except (*UNAVAILABLE, redis.RedisError) as error:
            self._come_again(broker, message, error)
        if granted is None:
            skip_silently(message)
        # The delivery options stay those of the hint, since the broker acknowledges by them. But the message
        # that runs must not be marked as a hint: a body may send its own message again.
        stamped = DELIVERY_OPTIONS - {HINT}
        stamps = {name: message.options[name] for name in stamped if name in message.options}
        granted.entry.hint = plain_message(message)
        replace_message(message, copied(plain_message(granted), **stamps))
        enter(granted.entry, message)

    def _park_if_unknown(self, message: MessageProxy) -> None:
        if message.options.get(HINT) == HintKind.LANE:
            return
        plain = plain_message(message)
        if self._is_parked(plain):
            return
        # A producer without our middleware has parked nothing.
        plain.options.pop(HINT, None)
        try:
            self._bands.listed.park(plain, None)
        except QueueRejected as error:
            raise QueueUnavailable(str(error)) from error  # the lane is full: the message waits in the broker for room

    def _is_parked(self, message: "Message[Any]") -> bool:
        delivery = delivery_of(message)
        meta = self._engine.views.meta(execution_id_of(message, delivery, is_delivered=True))
        if not meta or named_id(message) is None:
            return bool(meta)
        return meta.get("lasting", "") in (digest(delivery), digest(message.message_id))

    def _come_again(self, broker: Broker, message: MessageProxy, error: Exception) -> NoReturn:
        log.warning("hint_deferred", message_id=message.message_id, error=str(error))
        again = copied(plain_message(message), **{HINT: message.options.get(HINT, HintKind.MESSAGE)})
        while True:
            try:
                broker.enqueue(again, delay=AGAIN_AFTER_MS)
                skip_silently(message)
            except SkipMessage:
                raise
            except Exception as failure:  # of any broker; keep this hint until the broker has the new one
                if self._stopping:
                    message.fail()
                    raise SkipMessage("it is kept as a dead letter") from failure
                time.sleep(ENQUEUE_PAUSE_SECONDS)

    def settle(self, broker: Broker, message: MessageProxy) -> None:
        """Settle the execution that this thread ran and send hints for free slots, before the hint is acknowledged.

        Raises:
            SettlementPending: If Redis did not answer.
        """
        entry = current_entry()
        if entry is None:
            return
        if self._held.has(entry):
            self._settle(broker, message, entry)
        # A consumer counts its deliveries by message id, so it gets back the hint that it delivered.
        if entry.hint is not None and plain_message(message) is not entry.hint:
            entry.ran = plain_message(message)
            replace_message(message, entry.hint)

    def acknowledged(self, message: MessageProxy) -> None:
        """Put the execution's message back for the hooks that follow: the broker is done with the hint."""
        entry = current_entry()
        if entry is not None and entry.ran is not None:
            replace_message(message, entry.ran)

    def _settle(self, broker: Broker, message: MessageProxy, entry: Entry) -> None:
        gated = self._bands.gated.get(message.actor_name)
        try:
            if not entry.stale:
                store_unstored(entry)
                send_unsent(entry, lambda kept, delay: cast("Any", broker).enqueue(kept, delay=delay))
                entry.settling = entry.settling or Settling(settlement_of(broker, gated, message, entry))
                self._exchange.settle(entry.settling)
                entry.settling = None
        except UNAVAILABLE as error:
            raise SettlementPending(str(error)) from error
        except BaseException:
            self._held.drop(entry)  # nobody repeats this settlement: the lease may run out
            raise
        self._held.drop(entry)
        self._hint(broker, entry.lane, 1)

    def _hint(self, broker: Broker, lane: str, most: int) -> None:
        """Send a hint for each wake token; a token says that a slot is free and an execution waits."""
        if self._stopping:
            return
        try:
            tokens: list[bytes] | None = self._engine.scripts.client.lpop(self._engine.scripts.keys.wake(lane), most)
            for _ in tokens or ():
                broker.enqueue(self._hint_at(lane))
        except Exception as error:  # noqa: BLE001  # of any broker: the message that brought us here is acknowledged anyway
            log.warning("hint_not_sent", error=str(error))  # the next round of any worker sends it

    def _hint_at(self, lane: str) -> "Message[Any]":
        name = next(gated.name for gated in self._bands.gated.values() if gated.lane == lane)
        return Message(queue_name=lane, actor_name=name, args=(), kwargs={}, options={HINT: HintKind.LANE})

    def _round(self) -> None:
        worker = self._worker
        if worker is None or self._stopping:
            return
        has_kept_up = self._upkeep.round()
        consumers = worker.consumers
        lanes = tuple(lane for lane in self._bands.gated.lanes & consumers.keys() if not consumers[lane].paused)
        if not lanes:
            return
        self._bands.gated.declare_limits(self._engine.controls, worker.broker)
        self._planning.round()
        # This grants nothing, but promotes due executions, reaps lost grants and marks the lanes as live.
        admission = self._engine.transitions.admit(lanes, 0, lease_ms=self._lease_ttl_ms, consumer=True)
        if admission.more:
            self._engine.maintenance.wake()  # a token may have been lost with its hint
        if admission.untold or has_kept_up:
            self._telling.begin(worker.broker, lanes)
        idle = worker.worker_threads - len(self._held) - worker.work_queue.qsize()
        for lane in lanes if idle > 0 else ():
            self._hint(worker.broker, lane, idle)
