"""``PriorityBands``: the middleware that checks and parks a gated actor's message before it is enqueued.

In the flow: `send()` → `before_enqueue` here → park.lua, in one round trip. On `BandedRedisBroker` that is all; on
another broker the message then goes into its queue as a mere hint. Every refusal is a `MiddlewareError`, since Dramatiq
ignores other errors of hooks. If the process dies before the park, nothing was kept and `send()` never returned; after
it, the execution waits.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import redis
from dramatiq import Actor, Broker, Message, Worker
from dramatiq.common import q_name
from dramatiq.middleware import Middleware
from dramatiq.worker import ConsumerThread

from ..configs.logger import Logger
from ..configs.prefix import NAMESPACE, PREFIX, prefix_of
from ..scheduler.engine.engine import Engine
from ..scheduler.engine.parking import Candidate, Parking
from ..scheduler.keys import Keys
from ..scheduler.model.errors import (
    DuplicateExecution,
    InvalidRequest,
    NotUnique,
    QueueRejected,
    QueueUnavailable,
    shown,
)
from ..scheduler.model.identifiers import new_execution_id
from ..scheduler.transport.scripts import DEADLINE_SECONDS, Scripts
from .actor import let_await
from .errors import LostGrant, MiddlewareMissing
from .grants.context import current_entry, current_origin, is_settling
from .grants.table import Entry
from .grants.unsent import keep_unsent
from .intake.actor_options import ACTOR_OPTIONS, GatedActor, is_gated, refuse_ungated
from .intake.burial import Burial
from .intake.dropping import drop, undrop
from .intake.envelope import HINT, as_sent, is_bare
from .intake.execution_ids import derived_id
from .intake.failing_closed import FailingClosed
from .intake.gated_actors import GatedActors
from .intake.listed_messages import ListedMessages
from .intake.message_options import MAX_MESSAGE_BYTES, has_made_up_id, read_message
from .intake.misspelt_options import check_options
from .intake.retry_detection import is_own, is_retry
from .intake.unsure import Unsure

log = Logger(__name__)


class PriorityBands(Middleware):
    """Parks messages of actors that have a band, an action or gates."""

    def __init__(
        self,
        redis_client: "redis.Redis | None" = None,
        *,
        prefix: str | None = None,
        engine: Engine | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        """Only a client is needed.

        Args:
            redis_client: A client of the server that holds the queue.
            prefix: The prefix of the queue's keys; by default it follows the namespace of a `RedisBroker`.
            engine: A shared engine, in place of the client, the prefix and the deadline.
            deadline_seconds: How long a call of the queue may take in all, retries included.
            max_message_bytes: A longer message of a gated actor is refused.
        """
        if not isinstance(max_message_bytes, int) or max_message_bytes < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest(
                "max_message_bytes", f"{shown(max_message_bytes)} is no size", allowed="bytes, 1 or more"
            )
        self._follows = engine is None and prefix is None
        self._max_message_bytes = max_message_bytes
        if engine is None:
            keys = Keys(prefix or PREFIX)
            engine = Engine(Scripts(redis_client or redis.Redis(), keys, deadline_seconds=deadline_seconds))
        self.gated = GatedActors()
        self._use(engine)
        self._bulk = threading.local()
        self.unsure = Unsure()
        """Ids that Redis may have accepted although its answer was lost."""

    def _use(self, engine: Engine) -> None:
        self.engine = engine
        self._transitions = engine.transitions
        self._burial = Burial(engine.transitions, self._max_message_bytes)
        self.listed = ListedMessages(engine, self.gated, self._burial, self._max_message_bytes)

    def _follow(self, broker: Broker) -> None:
        # Two namespaces on one server must have no lane in common.
        scripts = self.engine.scripts
        keys = Keys(prefix_of(getattr(broker, "namespace", NAMESPACE)))
        if self._follows and keys != scripts.keys:
            self._use(Engine(scripts.under(keys)))

    @property
    def actor_options(self) -> set[str]:
        """``band``, ``action``, ``gates``, ``limits``, ``unique``, ``schedule``, ``keep_unrun``."""
        return set(ACTOR_OPTIONS)

    def takes(self, message: "Message[Any]") -> bool:
        """Whether this middleware handles a message: its actor is gated, or this thread runs the message under a grant
        (its actor was gated when it was sent) and enqueues it again. Any other message is left alone, whatever its
        options.
        """
        return message.actor_name in self.gated or held_again(message) is not None

    def before_declare_actor(self, broker: Broker, actor: "Actor[..., Any]") -> None:
        """Check a gated actor's options; a wrong one stops the declaration."""
        let_await(actor)
        if is_gated(actor):
            self._follow(broker)
            self.gated.enter(actor)
        else:
            others = [each for each in broker.middleware if each is not self]
            refuse_ungated(actor, others)
            self.gated.leave(actor.actor_name)  # an earlier declaration of this name may have been gated

    def after_declare_actor(self, broker: Broker, actor: "Actor[..., Any]") -> None:
        """Check an actor that was declared before this middleware was added."""
        if is_gated(actor) and actor.actor_name not in self.gated:
            self.before_declare_actor(broker, actor)

    def before_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Check that the worker has the gate too.

        Raises:
            MiddlewareMissing: If `ConcurrencyGate` was not added.
        """
        if not any(getattr(each, "is_concurrency_gate", False) for each in broker.middleware):
            raise MiddlewareMissing("PriorityBands", "ConcurrencyGate")
        self.gated.forget_declaration()

    def before_enqueue(self, broker: Broker, message: "Message[Any]", delay: int | None) -> None:
        """Park the message, or note it as the retry of the execution that this thread runs.

        Raises:
            QueueRejected: Of any kind; nothing was kept.
            QueueUnavailable: If Redis did not answer.
            LostGrant: If a hook enqueues a message after a body whose grant was lost.
        """
        try:
            with FailingClosed(message):
                self._before_enqueue(broker, message, delay)
        except NotUnique as conflict:
            drop(broker, message, conflict)
        except QueueUnavailable as error:
            if not getattr(broker, "pulls_lanes", False):  # that broker keeps it itself
                keep_unsent(as_sent(message), delay, error)
            raise

    def _before_enqueue(self, broker: Broker, message: "Message[Any]", delay: float | None) -> None:
        if HINT in message.options:
            return  # a hint stands for no execution of its own, and passes on no result of a grant
        entry = current_entry()
        if entry is not None and entry.lost and is_settling():
            raise LostGrant(execution_id=entry.grant.execution_id, attempt=entry.grant.attempt)
        gated = self.gated.get(message.actor_name)
        held = held_again(message)
        if gated is None and held is None:
            return
        undrop(message)
        # A broker that pulls its lanes passes a copy that nobody else refers to yet.
        is_own_copy = held is None and getattr(broker, "pulls_lanes", False) and is_bare(message)
        sent = message if is_own_copy else as_sent(message)
        if held is not None and (gated is None or is_retry(gated, sent, held[1])):
            held[0].retry = (sent, int(delay or 0))
            return
        assert gated is not None
        candidate = self._read(broker, gated, sent, delay)
        if "scheduled_at" in sent.options:
            message.options["scheduled_at"] = sent.options["scheduled_at"]
        bulk: Parking | list[Candidate] | None = getattr(self._bulk, "parking", None)
        if bulk is not None:
            self._bulk.ids.append(candidate.execution_id)
            bulk.append(candidate)
        else:
            candidate = self._park(sent, candidate)
        message.options["execution_id"] = candidate.execution_id

    def _read(self, broker: Broker, gated: GatedActor, sent: "Message[Any]", delay: float | None) -> Candidate:
        is_hook = is_settling()
        origin = current_origin() if is_hook else ""
        entry = current_entry() if is_hook else None
        parent = "" if entry is None else entry.grant.execution_id
        is_direct = not is_hook and bool(getattr(broker, "pulls_lanes", False))
        try:
            check_options(broker, sent)
            return read_message(
                gated,
                sent,
                delay,
                # The server's clock: with a wrong clock on this host, it would be due too early or too late (F18).
                self.engine.views.server_time_ms() if delay else 0,
                is_direct=is_direct,
                parent=parent,
                origin=origin,
                is_delivered=not is_hook,
                max_bytes=self._max_message_bytes,
            )
        except InvalidRequest as rejection:
            if is_hook:
                self._burial.of_unread(gated, sent, parent, origin, rejection)
            raise

    def _park(self, sent: "Message[Any]", candidate: Candidate) -> Candidate:
        try:
            self._transitions.park(candidate)
        except DuplicateExecution as duplicate:
            return self._sent_again(sent, candidate, duplicate)
        except QueueUnavailable:
            self.unsure.add([candidate.execution_id])
            raise
        except QueueRejected as rejection:
            if is_settling():
                self._burial.of_follow_up(candidate, rejection)
            raise
        return candidate

    def _sent_again(self, sent: "Message[Any]", candidate: Candidate, duplicate: DuplicateExecution) -> Candidate:
        if isinstance(threading.current_thread(), ConsumerThread):
            return candidate  # a plain broker's delayed hint that is due now: it was parked when it was sent
        if is_settling():
            self._burial.unless_repeated(sent, candidate, duplicate)
            return candidate
        if "execution_id" in sent.options or not has_made_up_id(sent) or candidate.execution_id in self.unsure:
            raise duplicate  # the sender chose the id, or an earlier send without an answer may have been accepted
        again = replace(candidate, execution_id=derived_id(sent.message_id, new_execution_id()))
        self._transitions.park(again)
        return again

    def send_again(
        self,
        broker: Broker,
        message: "Message[Any]",
        delay: int | None,
        duplicate: DuplicateExecution,
        *,
        is_named: bool,
    ) -> "Message[Any] | QueueRejected":
        """Park a bulk message with a known id as a new execution, unless its sender chose that id (`is_named`).

        Returns:
            The message, or the reason why it was refused.
        """
        sent = as_sent(message)
        if not is_named:
            del sent.options["execution_id"]
        try:
            with FailingClosed(message):
                gated = self.gated[message.actor_name]
                candidate = self._sent_again(sent, self._read(broker, gated, sent, delay), duplicate)
        except QueueRejected as rejection:
            return rejection
        message.options["execution_id"] = candidate.execution_id
        return message

    @contextmanager
    def bulk(self) -> Generator[Parking]:
        """A context in which this thread's messages are checked, and parked together, many in a call."""
        with self._transitions.parking() as parking:
            ids: list[str] = []
            self._bulk.parking, self._bulk.ids = parking, ids
            try:
                yield parking
            except QueueUnavailable:
                self.unsure.add(ids)
                raise
            finally:
                del self._bulk.parking, self._bulk.ids

    @contextmanager
    def gathering(self) -> Generator[list[Candidate]]:
        """A context in which this thread's messages are checked, but not parked."""
        gathered: list[Candidate] = []
        self._bulk.parking, self._bulk.ids = gathered, []
        try:
            yield gathered
        finally:
            del self._bulk.parking, self._bulk.ids


def held_again(message: "Message[Any]") -> "tuple[Entry, Message[Any]] | None":
    """Return the grant under which this thread runs a message that is enqueued again, and the message as it came."""
    entry = current_entry()
    held = None if entry is None else entry.message
    if entry is None or held is None or message.actor_name != held.actor_name:
        return None
    is_same = is_own(message, entry.grant.execution_id, held) and q_name(message.queue_name) == held.queue_name
    return (entry, held) if is_same else None
