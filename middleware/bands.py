"""``PriorityBands``: before a message of a gated actor is enqueued, it is checked and parked in one round trip.

In the flow: `send()` → `before_enqueue` here → park.lua. On `BandedRedisBroker` that is all; on another broker the
message that follows into its queue is only a hint. Every refusal is a `MiddlewareError`, since Dramatiq's hooks fail
open. If the process dies before the park, nothing was kept and `send()` never returned; after it, the execution waits.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import redis
import structlog
from dramatiq import Actor, Broker, Message, Worker
from dramatiq.middleware import Middleware, MiddlewareError
from dramatiq.worker import ConsumerThread

from ..scheduler.errors import DuplicateExecution, InvalidRequest, QueueRejected, QueueUnavailable
from ..scheduler.keys import Keys
from ..scheduler.parking import Candidate, Parking
from ..scheduler.scripts import Scripts
from ..scheduler.transitions import Transitions
from ..scheduler.views import Views
from .current import current_entry, is_settling
from .delivery import HINT, as_sent
from .errors import LostGrant, MiddlewareMissing
from .gated_actor import ACTOR_OPTIONS, GatedActor, is_gated, read_actor
from .requests import check_ungated, execution_id_of, read_message, refused_candidate
from .resending import is_retry

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
        self._views = Views(scripts)
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

    def before_declare_actor(self, broker: Broker, actor: "Actor[..., Any]") -> None:
        """Check a gated actor's options; a wrong one stops the declaration."""
        if is_gated(actor):
            self.gated[actor.actor_name] = read_actor(actor)
        else:
            self.gated.pop(actor.actor_name, None)  # declared anew under this name
        self._lanes = frozenset(gated.lane for gated in self.gated.values())

    def after_declare_actor(self, broker: Broker, actor: "Actor[..., Any]") -> None:
        """Actors declared before this middleware was added are checked when it is."""
        if is_gated(actor) and actor.actor_name not in self.gated:
            self.before_declare_actor(broker, actor)

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """A worker needs the gate too.

        Raises:
            MiddlewareMissing: If it was not added.
        """
        if not any(getattr(each, "is_concurrency_gate", False) for each in broker.middleware):
            raise MiddlewareMissing("PriorityBands", "ConcurrencyGate")

    def before_enqueue(self, broker: Broker, message: "Message[Any]", delay: int | None) -> None:
        """Park the message, or note it as the retry of what this thread runs.

        Raises:
            QueueRejected: InvalidRequest, QueueFull, UserLimitExceeded or DuplicateExecution; nothing was kept.
            QueueUnavailable: If Redis did not answer.
            LostGrant: If a hook sends on what came of a grant that was lost.
        """
        with _failing_closed(message):
            self._before_enqueue(broker, message, delay)

    def _before_enqueue(self, broker: Broker, message: "Message[Any]", delay: float | None) -> None:
        entry = current_entry()
        if entry is not None and entry.lost and is_settling():
            raise LostGrant(execution_id=entry.grant.execution_id, attempt=entry.grant.attempt)
        if HINT in message.options:
            return  # it carries no truth of its own
        gated = self.gated.get(message.actor_name)
        if gated is None:
            if not is_settling():
                check_ungated(broker, message)
            return
        sent = as_sent(message)
        if (
            entry is not None
            and entry.message is not None
            and entry.grant.execution_id == execution_id_of(sent)
            and is_retry(gated, sent, entry.message)
        ):
            entry.retry = (sent, int(delay or 0))
            return
        candidate = self._read(gated, sent, delay)
        message.options["execution_id"] = candidate.execution_id
        if "scheduled_at" in sent.options:
            message.options["scheduled_at"] = sent.options["scheduled_at"]
        bulk: Parking | None = getattr(self._bulk, "parking", None)
        if bulk is not None:
            bulk.append(candidate)
        else:
            self._park(candidate)

    def park_listed(self, message: "Message[Any]", delay_ms: float | None) -> None:
        """Park a message that a plain producer put into a Dramatiq list. One that is parked already is none the worse.

        Raises:
            QueueRejected: InvalidRequest, QueueFull or UserLimitExceeded.
            QueueUnavailable: If Redis did not answer.
        """
        if HINT in message.options:
            return
        with _failing_closed(message):
            candidate = read_message(self.gated[message.actor_name], as_sent(message), delay_ms, self._now_ms(delay_ms))
            try:
                self.transitions.park(candidate)
            except DuplicateExecution:
                log.debug("hint_dropped", execution_id=candidate.execution_id)

    def _now_ms(self, delay_ms: float | None) -> int:
        # The server's, not this host's: a caller whose clock is off would be due too early or too late (F18).
        return self._views.server_time_ms() if delay_ms else 0

    def _read(self, gated: GatedActor, sent: "Message[Any]", delay: float | None) -> Candidate:
        try:
            return read_message(gated, sent, delay, self._now_ms(delay))
        except InvalidRequest as rejection:
            if is_settling():
                self._bury(refused_candidate(gated, sent), rejection)
            raise

    def _park(self, candidate: Candidate) -> None:
        try:
            self.transitions.park(candidate)
        except DuplicateExecution:
            # A plain broker's delay queue re-enqueues a hint when it is due; an attempt that died after its hooks had
            # run sends the next step once more. Neither is a new request.
            if not isinstance(threading.current_thread(), ConsumerThread) and not is_settling():
                raise
            log.debug("sent_before", execution_id=candidate.execution_id)
        except QueueRejected as rejection:
            if is_settling():
                self._bury(candidate, rejection)
            raise

    def _bury(self, candidate: Candidate, rejection: QueueRejected) -> None:
        # Raised inside an after-hook (a pipeline's next step, a callback), Dramatiq would swallow it.
        self.transitions.bury(candidate, rejection.code)
        log.error("follow_up_rejected", execution_id=candidate.execution_id, code=rejection.code, error=str(rejection))

    @contextmanager
    def bulk(self) -> Generator[Parking]:
        """Within it, this thread's messages are checked, and parked together, many a call."""
        with self.transitions.parking() as parking:
            self._bulk.parking = parking
            try:
                yield parking
            finally:
                del self._bulk.parking


@contextmanager
def _failing_closed(message: "Message[Any]") -> Generator[None]:
    """Let nothing out but `MiddlewareError`s: any other is logged by Dramatiq, and the message taken for sent."""
    try:
        yield
    except MiddlewareError:
        raise
    except redis.RedisError as error:
        raise QueueUnavailable(f"Redis refused: {error}") from error
    except Exception as error:
        log.exception("message_not_parked", message_id=message.message_id, actor=message.actor_name)
        raise InvalidRequest("message", f"it could not be parked: {type(error).__name__}") from error
