"""``ConcurrencyGate``: the middleware that runs a gated actor only while its grant is valid in this process.

In the flow: the last middleware, so its before-hook runs right before the body, and its after-hooks run before those
of Results, Pipelines and Callbacks. On `BandedRedisBroker` the message carries its grant; on another broker it is only
a hint, and `Hints` asks for a grant. If the process dies while a body runs, the lease runs out and the grant is reaped.
"""

import time
from typing import Any, ClassVar

import redis
from dramatiq import Broker, MessageProxy, Worker
from dramatiq.middleware import Middleware

from ..configs.logger import Logger
from ..configs.prefix import PREFIX
from ..scheduler.engine.engine import Engine
from ..scheduler.keys import Keys
from ..scheduler.server.eviction import warn_of_eviction
from ..scheduler.transport.scripts import DEADLINE_SECONDS, Scripts
from .bands import PriorityBands
from .errors import MiddlewareMissing
from .grants.cancellation import ExecutionCancelled
from .grants.context import current_entry, leave, settle
from .grants.results import keep_results
from .grants.suppress import leave_out_silent_ends, skip_silently, suppress_publishing
from .grants.table import GrantedMessage, GrantTable
from .intake.envelope import plain_message
from .plain_broker import Hints

log = Logger(__name__)


class ConcurrencyGate(Middleware):
    """Lets the body of a gated actor run only under a valid grant."""

    is_concurrency_gate: ClassVar = True

    def __init__(
        self,
        redis_client: "redis.Redis | None" = None,
        *,
        prefix: str | None = None,
        engine: Engine | None = None,
        lease_ttl_ms: int = 30_000,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        """Only a client is needed.

        Args:
            redis_client: A client of the server that holds the queue.
            prefix: The prefix of the queue's keys; by default that of `PriorityBands`.
            engine: A shared engine, in place of the client, the prefix and the deadline.
            lease_ttl_ms: How long a grant lasts without renewal.
            deadline_seconds: How long a call of the queue may take in all, retries included.
        """
        self._follows = engine is None and prefix is None
        if engine is None:
            keys = Keys(prefix or PREFIX)
            engine = Engine(Scripts(redis_client or redis.Redis(), keys, deadline_seconds=deadline_seconds))
        self.engine = engine
        self.held = GrantTable()
        self.lease_ttl_ms = lease_ttl_ms
        self._hints: Hints | None = None

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Become the last middleware, whatever was added since; on a plain broker, put `Hints` first.

        Raises:
            MiddlewareMissing: If `PriorityBands` was not added.
        """
        leave_out_silent_ends()
        bands = self._bands_of(broker)
        scripts, keys = self.engine.scripts, bands.engine.scripts.keys
        if self._follows and keys != scripts.keys:
            self.engine = Engine(scripts.under(keys))
        first: list[Middleware] = []
        if not getattr(broker, "pulls_lanes", False):
            self._hints = Hints(broker, self.engine, bands, self.held, self.lease_ttl_ms)
            first.append(self._hints)
        # A new list, since Dramatiq is iterating over the old one.
        others = [each for each in broker.middleware if each is not self and not isinstance(each, Hints)]
        broker.middleware = [*first, *others, self]
        keep_results(broker)

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Warn operators if the server may evict keys."""
        warn_of_eviction(self.engine.scripts.client)

    def _bands_of(self, broker: Broker) -> PriorityBands:
        for each in broker.middleware:
            if isinstance(each, PriorityBands):
                return each
        raise MiddlewareMissing("ConcurrencyGate", "PriorityBands")

    def _is_gated(self, broker: Broker, message: MessageProxy) -> bool:
        return message.actor_name in self._bands_of(broker).gated

    def before_process_message(self, broker: Broker, message: MessageProxy) -> None:
        """Begin the body, if this process still holds the grant.

        Raises:
            SkipMessage: If it does not.
        """
        entry = current_entry()
        if entry is None and not self._is_gated(broker, message):
            return
        if entry is None:
            # For instance, fetched before its actor was declared as gated: it must not bypass the gate, nor get lost.
            self._bands_of(broker).listed.park(plain_message(message), None)
        if entry is None or not self.held.begin(entry):
            skip_silently(message)

    def after_process_message(
        self, broker: Broker, message: MessageProxy, *, result: Any = None, exception: BaseException | None = None
    ) -> None:
        """Note how the body ended; if its grant was lost meanwhile, turn off the hooks that publish its result."""
        entry = current_entry()
        if entry is not None:
            self.held.end(entry)
            entry.raised, entry.ended_at = exception, time.monotonic()
            if not entry.is_valid():
                entry.lost = True
                suppress_publishing(message)
                log.warning("stale_attempt_ended", execution_id=entry.grant.execution_id, attempt=entry.grant.attempt)
            elif isinstance(exception, ExecutionCancelled):
                log.info("body_cancelled", execution_id=entry.grant.execution_id, attempt=entry.grant.attempt)
                message.fail()  # it ends as cancelled: there is no retry, and callers that wait for a result are told
        settle()

    def after_skip_message(self, broker: Broker, message: MessageProxy) -> None:
        """Note that the body did not run, or that its result does not count."""
        settle()

    def has_lost(self, message: MessageProxy) -> bool:
        """Whether this process no longer holds the grant of a body that just ended."""
        return isinstance(message, GrantedMessage) and not message.entry.is_valid()

    def before_ack(self, broker: Broker, message: MessageProxy) -> None:
        """On a plain broker, settle the execution before the hint is acknowledged."""
        if self._hints is not None:
            self._hints.settle(broker, message)

    def before_nack(self, broker: Broker, message: MessageProxy) -> None:
        """On a plain broker, settle the execution before the hint is acknowledged."""
        self.before_ack(broker, message)

    def after_ack(self, broker: Broker, message: MessageProxy) -> None:
        """Leave the grant: the broker is done with the message."""
        if self._hints is not None:
            self._hints.acknowledged(message)
        entry = current_entry()
        if entry is not None:
            entry.raised = None  # its traceback refers to frames that refer to the message
        leave()

    def after_nack(self, broker: Broker, message: MessageProxy) -> None:
        """Leave the grant: the broker is done with the message."""
        self.after_ack(broker, message)

    def before_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Admit nothing more."""
        if self._hints is not None:
            self._hints.stop()
