"""``ConcurrencyGate``: a body begins only under a grant that is still this process's; without it nothing counts.

In the flow: the last middleware, so its before-hook is the last word before the body and its after-hooks come before
those of Results, Pipelines and Callbacks. On `BandedRedisBroker` the message brings its grant; on another broker it is
only a hint, and `hints` runs the gate. If the process dies while a body runs, its lease runs out and it is reaped.
"""

from typing import Any

import redis
import structlog
from dramatiq import Broker, MessageProxy, Worker
from dramatiq.middleware import Middleware

from ..scheduler.keys import Keys
from ..scheduler.scripts import Scripts
from .bands import PriorityBands
from .held import GrantedMessage, Held, current
from .hints import Hints
from .mute import mute, skip_silently

log = structlog.get_logger(__name__)


class ConcurrencyGate(Middleware):
    """Lets the body of a gated actor run only under a valid grant."""

    def __init__(
        self,
        redis_client: "redis.Redis | None" = None,
        *,
        prefix: str = "exec_queue",
        scripts: Scripts | None = None,
        lease_ttl_ms: int = 30_000,
    ) -> None:
        """Needs a client and nothing else.

        Args:
            redis_client: Of the server that holds the queue.
            prefix: What its keys begin with.
            scripts: In place of both, when they are shared.
            lease_ttl_ms: How long a grant lasts without renewal.
        """
        self.scripts = scripts or Scripts(redis_client or redis.Redis(), Keys(prefix))
        self.held = Held()
        self.lease_ttl_ms = lease_ttl_ms
        self._hints = Hints(self.scripts, self.held, lease_ttl_ms)

    def before_process_message(self, broker: Broker, message: MessageProxy) -> None:
        """Begin the body, if the grant is still this process's.

        Raises:
            SkipMessage: If it is not, or, on a plain broker, if the message may not run now.
        """
        current.entry, current.settling = None, False
        if isinstance(message, GrantedMessage):
            if not self.held.begin(message.entry):
                skip_silently(message)
            current.entry = message.entry
            return
        bands = _bands(broker)
        if bands is not None and message.actor_name in bands.gated:
            current.entry = self._hints.arrive(broker, bands, message)

    def after_process_message(
        self, broker: Broker, message: MessageProxy, *, result: Any = None, exception: BaseException | None = None
    ) -> None:
        """Note how the body ended; if its grant was lost meanwhile, turn off what would publish its result."""
        current.settling = True
        entry = current.entry
        if entry is None:
            return
        entry.raised = exception
        if not entry.is_valid():
            entry.lost = True
            mute(message)
            log.warning("stale_attempt_ended", execution_id=entry.grant.execution_id, attempt=entry.grant.attempt)

    def after_skip_message(self, broker: Broker, message: MessageProxy) -> None:
        """The body did not run."""
        current.settling = True

    def has_lost(self, message: MessageProxy) -> bool:
        """Whether a body that just ended did so under a grant that is not this process's any more."""
        if not isinstance(message, GrantedMessage) or message.entry.is_valid():
            return False
        message.entry.lost = True
        mute(message)
        return True

    def before_ack(self, broker: Broker, message: MessageProxy) -> None:
        """On a plain broker, settle before the hint goes."""
        self._hints.settle(broker, _bands(broker), message, failed=False)

    def before_nack(self, broker: Broker, message: MessageProxy) -> None:
        """On a plain broker, settle before the hint goes."""
        self._hints.settle(broker, _bands(broker), message, failed=True)

    def after_ack(self, broker: Broker, message: MessageProxy) -> None:
        """The message is done with."""
        current.entry, current.settling = None, False

    def after_nack(self, broker: Broker, message: MessageProxy) -> None:
        """The message is done with."""
        current.entry, current.settling = None, False

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Be the last middleware, whatever was added since."""
        broker.middleware.remove(self)
        broker.middleware.append(self)

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """On a plain broker, start the rounds that renew, promote, reap and dispatch."""
        bands = _bands(broker)
        if not getattr(broker, "pulls_lanes", False) and bands is not None:
            self._hints.start(broker, bands, worker)

    def before_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Nothing is admitted any more."""
        self._hints.stop()

    def after_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """All that ran has been settled."""
        self._hints.close()


def _bands(broker: Broker) -> PriorityBands | None:
    return next((middleware for middleware in broker.middleware if isinstance(middleware, PriorityBands)), None)
