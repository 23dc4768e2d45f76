"""Settles ended executions and admits the next ones in one call, for all lanes of a worker process.

In the flow: threads that ended come here with their settlements, the pump with free threads; what comes while a call is
under way goes together in the next (`scheduler/engine/joining.py`). A call takes as many grants as it frees threads
and as are free, best first over all lanes that are consumed here, and what is granted starts before the next call is
made. What nobody can start is handed back. If the process dies here, the leases run out.
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
    """Taken for it, or of threads that it freed, and not behind a grant yet."""
    sent = 0.0
    worker_number = 0
    """Whose threads the permits are."""
    is_dealt = False
    starting: Entry | None = None
    """That of the next one, if an exception struck while it was started."""
    started = 0
    """So many were given to a thread."""

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
        """Nothing is asked yet.

        Args:
            engine: Of the server.
            broker: Whose actors are known here.
            gated: Those that have a lane.
            held: The table.
            permits: The threads.
            lanes: Those that may be admitted now.
            start: Passes a message to a thread; False if that may not be now.
            lease_ttl_ms: Of what is granted.
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
        """Give one grant up; its thread takes the next, if there is one.

        Raises:
            QueueUnavailable: If Redis did not answer, or what it has of this execution is damaged; call again with the
                same object, it takes effect once.
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
        """Have free threads look for work; what is granted has been started when this returns.

        Raises:
            QueueUnavailable: If Redis did not answer; ask again with the same object, so that no grant is lost.
        """
        self._gated.declare_limits(self._engine.controls, self._broker)
        self._joining.do(asking)
        if asking.admitted is None:
            raise RuntimeError("an admission was done without an answer")
        return asking.admitted

    def hand_back(self, take: Callable[[], list[Entry]]) -> None:
        """Give up what has not begun, free of charge, at its original place.

        Args:
            take: Takes the entries out of the table.
        """
        with self._dealing:
            entries = take()
            self._permits.give(LANES, sum(entry.has_permit for entry in entries))
        try:
            self._joining.do(*[Settling(_hand_back(entry.grant)) for entry in entries])
        except QueueUnavailable as error:
            # Tried again before the next call, or the leases run out.
            log.warning("hand_back_failed", count=len(entries), error=str(error))

    def begin_worker(self) -> None:
        """Another worker of this process begins, with threads of its own."""
        with self._dealing:
            self._worker_number += 1

    def let_go(self, entry: Entry) -> None:
        """No thread stands behind a grant any more, and its lease may run out."""
        with self._dealing:
            if self._held.drop(entry) and entry.has_permit:
                self._permits.give(LANES)

    def tend(self) -> None:
        """Do what is left over, as after an interruption: settlements that nobody waits for, permits that nobody holds.

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
        # Under the lock as a whole: a leader that was stopped for long may meet the one that took its place.
        with self._dealing:
            if batch.call is not None:
                return batch.call
            settled = [ask for ask in batch.asks if isinstance(ask, Settling)]
            asking = next((ask for ask in batch.asks if isinstance(ask, Asking)), None)
            asked = 0 if asking is None else asking.permits
            batch.lanes = self._lanes() if asking is None else asking.lanes
            count = asked
            if batch.lanes:
                batch.permits += self._permits.take(LANES, self._permits.total, 0.0)
                entries = [ask.entry for ask in settled if ask.entry is not None]
                freed = sum(entry.has_permit and self._held.has(entry) for entry in entries)
                # Another party that waits for a thread gets one of these: lanes and plain queues share them.
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
        """Do with an answer what is to be done. The lock is held; after an interruption it is gone on with."""
        if batch.worker_number != self._worker_number:
            batch.permits = 0  # of threads that are gone: what was granted for them is handed back
        settled = [ask for ask in batch.asks if isinstance(ask, Settling)]
        for ask, ask.outcome in zip(settled, answer.outcomes, strict=True):
            entry = ask.entry
            # If it was handed back in this very moment, its permit went with it.
            if ask.outcome.code is not Code.ERROR and entry is not None and self._held.drop(entry):
                batch.permits += entry.has_permit
        grants = answer.admission.grants
        for grant in grants:
            # By their ids: of one that was lost meanwhile, as by an operator, a repeated answer tells no more.
            if grant.execution_id not in batch.opened:
                self._begin(batch, grant)
        permits, batch.permits = batch.permits, 0
        self._permits.give(LANES, permits)
        for ask in batch.asks:
            if isinstance(ask, Asking):
                # Of those that were refused, the next may be asked for.
                more = answer.admission.more or batch.started < len(grants)
                ask.admitted = Admitted(more, answer.admission.wait_ms, answer.admission.untold, batch.started)
        for name, error in answer.failures.items():
            log.error("data_damaged", name=name, error=error)

    def _begin(self, batch: _Call, grant: Grant) -> None:
        """Start the next of what was granted, or have it handed back."""
        # One that was interrupted may have been passed to a thread: begun it stands, else it counts no more.
        before = batch.starting
        if before is not None and before.grant.execution_id != grant.execution_id:
            self._held.drop_unbegun(before)  # the repeated answer has it no more
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
        # Nothing strikes between these.
        batch.starting = None
        batch.opened |= {grant.execution_id}
        batch.permits -= has_started
        batch.started += has_started


def _hand_back(grant: Grant) -> Retry:
    return Retry(grant.execution_id, grant.attempt, "hand_back", holder=grant.nonce, reason="not_begun")
