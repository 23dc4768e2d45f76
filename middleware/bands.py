"""``PriorityBands``: before a message of a gated actor is enqueued, it is checked and parked in one round trip.

In the flow: `send()` → `before_enqueue` here → park.lua. On `BandedRedisBroker` that is all; on another broker the
message that follows into its queue is only a hint. Every refusal is a `MiddlewareError`, since Dramatiq's hooks fail
open. If the process dies before the park, nothing was kept and `send()` never returned; after it, the execution waits.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
import structlog
from dramatiq import Actor, Broker, Message
from dramatiq.middleware import Middleware
from dramatiq.worker import ConsumerThread

from ..scheduler.errors import DuplicateExecution, QueueRejected
from ..scheduler.keys import Keys
from ..scheduler.scripts import Scripts
from ..scheduler.transitions import Candidate, Transitions
from .delivery import as_sent
from .held import current
from .requests import ACTOR_OPTIONS, GatedActor, find_gated, is_gated, read_actor, read_message

log = structlog.get_logger(__name__)


class PriorityBands(Middleware):
    """Parks messages of actors that have a band, an action or gates."""

    def __init__(
        self, redis_client: "redis.Redis | None" = None, *, prefix: str = "exec_queue", scripts: Scripts | None = None
    ) -> None:
        """Needs a client and nothing else.

        Args:
            redis_client: Of the server that holds the queue.
            prefix: What its keys begin with.
            scripts: In place of both, when they are shared.
        """
        if scripts is None:
            scripts = Scripts(redis_client or redis.Redis(), Keys(prefix))
        self.transitions = Transitions(scripts)
        self.gated: dict[str, GatedActor] = {}
        self._lanes: frozenset[str] = frozenset()
        self._bulk = threading.local()

    @property
    def actor_options(self) -> set[str]:
        """``band``, ``action``, ``gates``."""
        return set(ACTOR_OPTIONS)

    @property
    def lanes(self) -> frozenset[str]:
        """The queues that have a gated actor."""
        return self._lanes

    def _know(self, actor: "Actor[..., Any]") -> None:
        self.gated[actor.actor_name] = read_actor(actor)
        self._lanes = frozenset(gated.lane for gated in self.gated.values())

    def before_declare_actor(self, broker: Broker, actor: "Actor[..., Any]") -> None:
        """Check a gated actor's options; a wrong one stops the declaration."""
        if is_gated(actor):
            self._know(actor)

    def after_declare_actor(self, broker: Broker, actor: "Actor[..., Any]") -> None:
        """Actors declared before this middleware was added are checked when it is."""
        if is_gated(actor) and actor.actor_name not in self.gated:
            self._know(actor)

    def before_enqueue(self, broker: Broker, message: "Message[Any]", delay: int | None) -> None:
        """Park the message, or note it as the retry of what this thread runs.

        Raises:
            QueueRejected: InvalidRequest, QueueFull, UserLimitExceeded or DuplicateExecution; nothing was kept.
            QueueUnavailable: If Redis did not answer.
        """
        if "bandmaster_grant" in message.options:
            return  # admitted already, on its way to a worker of a plain broker
        gated = find_gated(broker, message, self.gated)
        if gated is None:
            return
        entry, sent = current.entry, as_sent(message)
        if entry is not None and entry.grant.execution_id == sent.options.get("execution_id", sent.message_id):
            entry.retry = (sent, delay or 0)
            return
        candidate = read_message(gated, sent, int(time.time() * 1000), delay)
        message.options["execution_id"] = candidate.execution_id
        bulk: list[Candidate] | None = getattr(self._bulk, "candidates", None)
        if bulk is not None:
            bulk.append(candidate)
        else:
            self._park(candidate)

    def _park(self, candidate: Candidate) -> None:
        try:
            self.transitions.park(candidate)
        except DuplicateExecution:
            # A plain broker's delay queue re-enqueues a hint when it is due: that is no new request.
            if not isinstance(threading.current_thread(), ConsumerThread):
                raise
        except QueueRejected as rejection:
            if current.settling:
                # Raised inside an after-hook (a pipeline's next step, a callback) Dramatiq would swallow it.
                self.transitions.bury(candidate, rejection.code)
                log.warning("enqueue_rejected_after_process", execution_id=candidate.execution_id, code=rejection.code)
            raise

    @contextmanager
    def bulk(self) -> Iterator[list[Candidate]]:
        """Within it, this thread's messages are checked and collected, to be parked together."""
        self._bulk.candidates = collected = list[Candidate]()
        try:
            yield collected
        finally:
            del self._bulk.candidates
