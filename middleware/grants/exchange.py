"""Settles ended executions and admits the next ones in one call, for all lanes of a worker process.

In the flow: threads submit settlements when their bodies end, and the pump asks for executions when threads are free.
Requests that arrive during a call go together in the next one (`scheduler/engine/joining.py`). A call asks for one
grant for each thread that is free or that it frees, best first over all lanes consumed here. Granted executions start
before the next call is made; those that cannot start are handed back. If the process dies here, the leases run out.
"""

import threading
import time
from collections.abc import Callable

from dramatiq import Broker

from ...configs.logger import Logger
from ...scheduler.engine.engine import Engine
from ...scheduler.engine.grants import Code, Grant, Outcome, read_exchange
from ...scheduler.engine.grants import Exchange as Answer
from ...scheduler.engine.joining import Batch, Joining
from ...scheduler.engine.settlements import Retry
from ...scheduler.engine.transitions import Next
from ...scheduler.model.errors import QueueUnavailable
from ...scheduler.transport.forks import anew_in_child
from ...scheduler.transport.scripts import Call
from ..intake.gated_actors import GatedActors
from .asked import Admitted, Asking, Settling, fitting
from .grant_message import message_of, refusal_of
from .permits import LANES, Permits
from .table import Entry, GrantedMessage, GrantTable, entry_of

log = Logger(__name__)


class _Call(Batch["Settling | Asking"]):
    lanes: tuple[str, ...] = ()
    permits = 0
    """Permits that were taken for it, or that its settlements freed, and that no grant uses yet."""
    sent = 0.0
    worker_number = 0
    """The number of the worker whose threads the permits stand for."""
    is_dealt = False
    starting: Entry | None = None
    """The entry whose start was interrupted by an exception, if any."""
    started = 0
    """How many executions were given to threads."""

    def __init__(self, asks: "list[Settling | Asking]") -> None:
        super().__init__(asks)
        self.opened: set[str] = set()
        """The executions that were started, handed back or refused."""


class Exchange:
    """Settlements and admissions of one worker process. Safe to share between threads."""

    def __init__(
        self,
        engine: Engine,
        broker: Broker,
        gated: GatedActors,
        held: GrantTable,
        permits: Permits,
        *,
        lanes: Callable[[], tuple[str, ...]],
        start: Callable[[GrantedMessage], bool],
        lease_ttl_ms: int,
    ) -> None:
        """Prepare the exchange without a call.

        Args:
            engine: The engine of the queue's server.
            broker: The broker on which this process has declared its actors.
            gated: The gated actors, each with its lane.
            held: The grant table.
            permits: The permits of the worker's threads.
            lanes: Returns the lanes from which executions may be admitted now.
            start: Passes a message to a thread; False if it may not start now.
            lease_ttl_ms: The lease of each grant.
        """
        self._engine = engine
        self._broker = broker
        self._gated = gated
        self._held = held
        self._permits = permits
        self._lanes = lanes
        self._start = start
        self._lease_ttl_ms = lease_ttl_ms
        self._worker_number = 0
        self._begin_anew()
        anew_in_child(self._begin_anew)
        self._joining = Joining(self._work, fitting, _Call, engine.scripts.deadline_seconds)

    def _begin_anew(self) -> None:
        self._dealing = threading.Lock()

    def settle(self, settling: Settling) -> Outcome:
        """Settle one grant; its thread gets the next execution, if there is one.

        Raises:
            QueueUnavailable: If Redis did not answer, or the execution's data is damaged. Call again with the same
                object: the settlement takes effect once.
        """
        self._joining.do(settling)
        outcome = settling.outcome
        if outcome is None:
            raise RuntimeError("a settlement was done without an outcome")
        if outcome.code is Code.ERROR:
            settling.set_apart()
            execution_id = settling.settlement.execution_id
            raise QueueUnavailable(f"what the server has of {execution_id} is damaged: {outcome.error}")
        return outcome

    def ask(self, asking: Asking) -> Admitted:
        """Ask for executions for free threads; those that are granted have been started when this returns.

        Raises:
            QueueUnavailable: If Redis did not answer. Ask again with the same object, so that no grant is lost.
        """
        self._gated.declare_limits(self._engine.controls, self._broker)
        self._joining.do(asking)
        if asking.admitted is None:
            raise RuntimeError("an admission was done without an answer")
        return asking.admitted

    def hand_back(self, take: Callable[[], list[Entry]]) -> None:
        """Hand back grants that have not begun; the executions wait at their old places, and no try is counted.

        Args:
            take: Takes the entries out of the table and returns them.
        """
        with self._dealing:
            entries = take()
            self._permits.give(LANES, sum(entry.has_permit for entry in entries))
        try:
            self._joining.do(*[Settling(_hand_back(entry.grant)) for entry in entries])
        except QueueUnavailable as error:
            # It is repeated before the next call; without one, the leases run out.
            log.warning("hand_back_failed", count=len(entries), error=str(error))

    def begin_worker(self) -> None:
        """Note that another worker of this process begins, with threads of its own."""
        with self._dealing:
            self._worker_number += 1

    def let_go(self, entry: Entry) -> None:
        """Drop a grant that no thread runs any more; its lease may run out."""
        with self._dealing:
            if self._held.drop(entry) and entry.has_permit:
                self._permits.give(LANES)

    def tend(self) -> None:
        """Finish what an interruption left over: settlements that nobody waits for, permits that nobody holds.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        self._joining.tend()
        with self._dealing:
            if self._joining.is_idle:
                self._permits.correct(LANES, sum(entry.has_permit for entry in self._held.all()))

    def _work(self, batch: _Call) -> None:
        answer = read_exchange(self._prepare(batch).run())
        with self._dealing:
            if not batch.is_dealt:
                self._deal(batch, answer)
                batch.is_dealt = True

    def _prepare(self, batch: _Call) -> Call:
        # All of it under the lock: a leader that was suspended for long may run beside the one that replaced it.
        with self._dealing:
            if batch.call is not None:
                return batch.call
            settled = [ask for ask in batch.asks if isinstance(ask, Settling)]
            asking = next((ask for ask in batch.asks if isinstance(ask, Asking)), None)
            asked = 0 if asking is None else asking.permits
            if asking is None:
                batch.lanes = self._lanes()
            else:
                batch.lanes = asking.lanes = asking.look()
            count = asked
            if batch.lanes:
                batch.permits += self._permits.take(LANES, self._permits.total, 0.0)
                entries = [ask.entry for ask in settled if ask.entry is not None]
                freed = sum(entry.has_permit and self._held.has(entry) for entry in entries)
                # Some freed permits go to the plain queues, if these wait for threads: both share the permits.
                count += batch.permits + freed - self._permits.passed_on(LANES, freed)
            batch.sent, batch.worker_number = time.monotonic(), self._worker_number
            following = Next(batch.lanes, count, self._lease_ttl_ms)
            settlements = [ask.settlement for ask in settled]
            call = self._engine.transitions.prepare_exchange(settlements, following, asks=asking is not None)
            self._permits.put_down(LANES, asked)
            batch.permits += asked
            batch.call = call
            return call

    def _deal(self, batch: _Call, answer: Answer) -> None:
        """Process an answer, under the lock. After an interruption, a second call goes on where the first stopped."""
        if batch.worker_number != self._worker_number:
            batch.permits = 0  # their threads are gone: the grants for them are handed back
        settled = [ask for ask in batch.asks if isinstance(ask, Settling)]
        for ask, ask.outcome in zip(settled, answer.outcomes, strict=True):
            entry = ask.entry
            # If the entry was handed back at the same moment, its permit was given back too.
            if ask.outcome.code is not Code.ERROR and entry is not None and self._held.drop(entry):
                batch.permits += entry.has_permit
        grants = answer.admission.grants
        for grant in grants:
            # Compare ids, not positions: a repeated answer leaves out grants that were lost since the first one.
            if grant.execution_id not in batch.opened:
                self._begin(batch, grant)
        permits, batch.permits = batch.permits, 0
        self._permits.give(LANES, permits)
        for ask in batch.asks:
            if isinstance(ask, Asking):
                # If some grants were refused, others may be admitted in their place.
                more = answer.admission.more or batch.started < len(grants)
                ask.admitted = Admitted(more, answer.admission.wait_ms, answer.admission.untold, batch.started)
        for name, error in answer.failures.items():
            log.error("data_damaged", name=name, error=error)

    def _begin(self, batch: _Call, grant: Grant) -> None:
        """Start one granted execution, or hand it back."""
        # An interrupted start may have reached a thread: if the body has begun it counts, otherwise it is undone.
        before = batch.starting
        if before is not None and before.grant.execution_id != grant.execution_id:
            self._held.drop_unbegun(before)  # the repeated answer does not contain it
            before = None
        has_started = before is not None and not self._held.drop_unbegun(before) and before.begun
        if not has_started:
            try:
                message = message_of(grant, self._gated, self._broker)
                retries = int(message.options.get("retries", 0))
            except Exception as error:  # noqa: BLE001  # whatever is wrong with one, the others are started
                self._joining.post(Settling(refusal_of(grant, error)))
                batch.opened.add(grant.execution_id)
                return
            entry = entry_of(grant, batch.sent, retries=retries, has_permit=batch.permits > 0)
            batch.starting = entry
            self._held.enter(entry)
            has_started = entry.has_permit and self._start(GrantedMessage(message, entry))
            if not has_started and self._held.drop_unbegun(entry):
                self._joining.post(Settling(_hand_back(grant)))
        # No exception can strike between these statements.
        batch.starting = None
        batch.opened |= {grant.execution_id}
        batch.permits -= has_started
        batch.started += has_started


def _hand_back(grant: Grant) -> Retry:
    return Retry(grant.execution_id, grant.attempt, "hand_back", holder=grant.nonce, reason="not_begun")
