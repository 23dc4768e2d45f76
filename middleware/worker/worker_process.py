"""The lifecycle of one worker process with lanes: boot, lease renewal, pump, thread supervision, shutdown.

In the flow: consumers restart its dead threads in each of their rounds. From `before_worker_shutdown` on, and while the
worker is paused, nothing is admitted, not even by a settlement. Grants that have not begun are handed back at once,
since Dramatiq stops its threads before its consumers. If the process dies, its leases run out.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Final

from dramatiq import Broker, MessageProxy, Worker
from dramatiq.middleware import Middleware
from dramatiq.worker import ConsumerThread

from ...scheduler.engine.engine import Engine
from ..grants.context import enter
from ..grants.exchange import Exchange
from ..grants.holding import Enqueue, Holding
from ..grants.lease_renewal import LeaseRenewal
from ..grants.permits import LISTS, Permits
from ..grants.table import GrantedMessage, GrantTable
from ..intake.gated_actors import GatedActors
from ..round_thread import RoundThread, done
from .backlog import Backlog, Backlogs, ListedMessage
from .lane_bounds import LaneBounds
from .left_over import LeftOver
from .lengths import Lengths
from .planning import Planning
from .pump import LONGEST_WAIT_SECONDS, Pump
from .repairs import Repairs
from .saturated import Saturated
from .signing import Signing
from .telling import Telling
from .thread_supervision import Progress, revive
from .wake_lists import WakeLists
from .work_queue import give_work_queue

BOOTING_WAIT_SECONDS: Final = 0.02
"""The longest wait of the pump while a lane's consumer has not started yet."""


class LaneProcess(Middleware):
    """The middleware that runs the lanes of one worker process."""

    def __init__(
        self,
        engine: Engine,
        broker: Broker,
        gated: GatedActors,
        held: GrantTable,
        wake_lists: WakeLists,
        lease_ttl_ms: int,
        enqueue: Enqueue,
        bounds: LaneBounds,
    ) -> None:
        self.permits = Permits()
        self.progress = Progress()
        self._gated = gated
        self._wake_lists = wake_lists
        self._lengths = Lengths(engine.controls, lease_ttl_ms)
        self._bounds = bounds
        self._exchange = Exchange(
            engine,
            broker,
            gated,
            held,
            self.permits,
            lanes=self.lanes,
            start=self._start,
            lease_ttl_ms=lease_ttl_ms,
        )
        self.holding = Holding(held, gated, self._exchange, enqueue)
        self._upkeep = Repairs(engine)
        self._promoting = Saturated(engine, self.permits)
        self._planning = Planning(engine)
        self._telling = Telling(engine, gated, lease_ttl_ms)
        self._heartbeat = LeaseRenewal(engine.transitions, held, lease_ttl_ms, self._round)
        self._pump = self.pump_for(self.lanes)
        self._pumping = RoundThread("bandmaster-pump", self._pump_once)
        self._backlogs = Backlogs()
        self._signing = Signing(engine, held, self._backlogs, self.permits, self.lanes, lambda: self._stopping)
        self._left_over = LeftOver(engine.views, gated)
        self._consumed_by: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._worker: Worker | None = None
        self._stopping = False
        gated.when_lost(lambda: self._say_again(broker))

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Begin with the threads of this worker as the permits."""
        # Hand back grants of an answer that came after an earlier worker was gone.
        self.holding.hand_back_unbegun()
        self._worker, self._stopping = worker, False
        give_work_queue(worker)
        self._backlogs.clear()
        self._exchange.begin_worker()
        self.holding.forget_permits()
        self.permits.open(worker.worker_threads)

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Start to renew leases; the pump starts with the first consumer."""
        if self._gated.lanes:
            done(lambda: self._lengths.say(broker), "boot")
            done(lambda: self._bounds.put_down(self._gated.lanes), "boot")
            self._heartbeat.rounds.start()
            self._signing.begin()

    def _say_again(self, broker: Broker) -> None:
        self._lengths.say(broker)
        self._bounds.put_down_again(self._gated.lanes)

    def before_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Stop admitting, and hand back grants that have not begun."""
        self._stopping = True
        self.holding.hand_back_unbegun()

    def after_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Stop the threads. Grants left over now are handed back when another worker begins, or their leases end."""
        self.close()

    def close(self) -> None:
        """Stop the threads."""
        self._pumping.stop()
        self._telling.stop()
        self._heartbeat.rounds.stop()
        self._promoting.stop()
        self._signing.end()
        self.permits.open(0)
        self._worker, self._stopping = None, False

    @property
    def has_worker(self) -> bool:
        """Whether a worker runs here."""
        return self._worker is not None

    @property
    def is_stopping(self) -> bool:
        """Whether the worker was told to stop: running bodies should finish soon."""
        return self._stopping

    @property
    def is_resting(self) -> bool:
        """Whether the threads are paused: a message passed to one now would only wait there."""
        return self._worker is not None and any(thread.paused for thread in self._worker.workers)

    def is_halted(self, queue_name: str) -> bool:
        """Whether nothing may be admitted from this queue now: the worker stops, or its consumer is paused."""
        consumer = self._worker.consumers.get(queue_name) if self._worker else None
        return self._stopping or (consumer is not None and consumer.paused)

    def _consumer_of(self, lane: str) -> ConsumerThread | None:
        return None if self._worker is None or self.is_halted(lane) else self._worker.consumers.get(lane)

    def _start(self, message: GrantedMessage) -> bool:
        """Pass a granted message to this worker's threads; where no worker runs, to the consumer of its lane."""
        if self._worker is None:
            self.backlog(message.entry.lane).ready.append(message)
            return True
        consumer = self._consumer_of(message.entry.lane)
        if consumer is not None:
            consumer.handle_message(message)
        return consumer is not None

    def lanes(self) -> tuple[str, ...]:
        """Return the lanes from which executions may be admitted now: their consumers run and are not paused."""
        if self._worker is None or self._stopping:
            return ()
        consumers = self._worker.consumers
        return tuple(
            lane
            for lane in self._gated.lanes
            if (each := consumers.get(lane)) is not None and each.consumer is not None and not each.paused
        )

    def pump_for(self, lanes: Callable[[], tuple[str, ...]]) -> Pump:
        """Make a pump for some lanes; a worker has one for all of its lanes."""
        return Pump(
            self._exchange,
            self.permits,
            self._wake_lists,
            lanes=lanes,
            point_to_list=lambda lane: self.backlog(lane).pointed_to.set(),
            tell=self._tell,
        )

    def backlog(self, queue_name: str) -> Backlog:
        """Return the messages fetched from a queue's list; they outlive the consumer."""
        return self._backlogs.of(queue_name)

    def next_listed(self, queue_name: str) -> ListedMessage | None:
        """Take the most urgent fetched message of all lists of this worker; where none runs, of this queue's list."""
        if not self.has_worker:
            return self._backlogs.pop(lambda name: name == queue_name)
        return self._backlogs.pop(lambda name: self._consumer_of(name) is not None)

    def start_listed(self, message: ListedMessage) -> None:
        """Pass a message with a permit to this worker's threads, through the consumer of its own list."""
        consumer = self._consumer_of(message.list_name)
        if consumer is None:
            self.backlog(message.list_name).ready.append(message)  # the queue was halted just now: it is put back
        else:
            consumer.handle_message(message)

    def look_for_left_over(self, queue_name: str) -> None:
        """Make a queue a lane if it has executions, or ends to be told, but no gated actor any more."""
        worker = self._worker
        if worker is not None and self._left_over.look(queue_name):
            done(lambda: self._lengths.say(worker.broker), "left over")

    def is_first_consumer(self) -> bool:
        """Whether the calling thread makes its first consumer; after an error it makes another."""
        thread = threading.current_thread()
        is_first = thread not in self._consumed_by
        self._consumed_by.add(thread)
        return is_first

    def look_after(self, prefetch: int) -> None:
        """Restart dead threads of this process; each consumer calls this in each of its rounds.

        Args:
            prefetch: The consumer's prefetch: the number of permits where no worker runs.
        """
        if not self._stopping:
            self._heartbeat.rounds.start()
            if self._worker is not None:
                self._pumping.start()
                self._promoting.start()
        if not self.permits.total:
            self.permits.open(prefetch)

    def _round(self) -> None:
        worker = None if self._stopping else self._worker
        if worker is not None:
            for consumer in revive(worker, self._abandon_thread):
                self._consumed_by.add(consumer)
        self.progress.note()
        if worker is None:
            return
        self._bounds.put_down(self._gated.lanes)
        if self._upkeep.round():
            # Look for ends that no admission reports, as after a loss of the settings.
            self._tell(self.lanes())
        self._planning.round()

    def _tell(self, lanes: tuple[str, ...]) -> None:
        if self._worker is not None:
            self._telling.begin(self._worker.broker, lanes)

    def _pump_once(self) -> None:
        self.progress.note()
        worker = self._worker
        if worker is None:
            return
        longest_seconds = min(LONGEST_WAIT_SECONDS, worker.worker_timeout / 1000)
        for lane in self._gated.lanes:
            consumer = worker.consumers.get(lane)
            if consumer is not None and self.is_halted(lane):
                # Grants that were started at the moment of the pause, after the consumer had handed back the others.
                self.holding.hand_back_unbegun(lane)
            elif consumer is not None and consumer.consumer is None:
                longest_seconds = BOOTING_WAIT_SECONDS
        self._pump.round(longest_seconds)

    def stuck(self, seconds: float) -> list[str]:
        """Return the names of threads that have begun no round for `seconds`, except stopped and paused consumers."""
        consumers = list(self._worker.consumers.values()) if self._worker else []
        threads: list[threading.Thread] = [each for each in consumers if each.running and not each.paused]
        own = filter(None, [self._heartbeat.rounds.thread, self._pumping.thread])
        return self.progress.stuck([*threads, *own], seconds)

    def enter(self, message: MessageProxy) -> None:
        """Note that this thread begins to work on a message: hooks first, then its body."""
        enter(message.entry if isinstance(message, GrantedMessage) else None, message)
        if isinstance(message, ListedMessage):
            message.thread_id = threading.get_ident()

    def abandon(self, message: MessageProxy) -> None:
        """Give back the permit of a message that no thread works on any more; its lease, if any, may run out."""
        if isinstance(message, GrantedMessage):
            self.holding.let_go(message.entry)
        elif isinstance(message, ListedMessage):
            backlog = self.backlog(message.list_name)
            if backlog.outstanding.pop(id(message), None) is not None and message.has_permit:
                self.permits.give(LISTS)

    def _abandon_thread(self, thread_id: int) -> None:
        self.holding.let_go_of_thread(thread_id)
        for backlog in self._backlogs.all():
            for message in list(backlog.outstanding.values()):
                if message.thread_id == thread_id:
                    self.abandon(message)
