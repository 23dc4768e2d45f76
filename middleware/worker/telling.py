"""Tells the senders of messages that ended without a body: expired, cancelled, given up after crashes, refused.

In the flow: an admission says that an outbox of this process's lanes holds ends. A separate thread collects them, a few
at a time, since a results backend may be slow. For each end it stores an exception, so that `get_result` raises, sends
`on_failure`, lets middleware know, logs a warning, and takes the end out of the outbox, in this order. If the process
dies in between, or a step fails, a worker of the lane repeats all of them later, with the same exception and the same
callback id; a process that lives does not let its middleware know twice. Ends of an actor that is not known here are
left to other workers, and after an hour become dead letters that nobody is told of.
"""

import threading
import time
import uuid
from typing import Any, Final, cast

from dramatiq import Broker, Message
from dramatiq.errors import ActorNotFound, DecodeError
from dramatiq.middleware import Callbacks, SkipMessage
from dramatiq.results import Results

from ...configs.logger import Logger
from ...scheduler.engine.engine import Engine
from ...scheduler.engine.outbox import UntoldEnd
from ...scheduler.engine.record import read_raised
from ...scheduler.model.errors import DuplicateExecution, InvalidRequest
from ...scheduler.model.states import State
from ..errors import ExecutionExpired, ExecutionFailed
from ..grants.cancellation import ExecutionCancelled
from ..grants.settlement import MAX_AGE
from ..intake.envelope import as_sent, decoded
from ..intake.gated_actors import GatedActors
from ..round_thread import JOIN_SECONDS, done
from .skipped import emit_skipped, failed_proxy

log = Logger(__name__)
NAME: Final = "bandmaster-telling"
COLLECTED: Final = 10
TAKEN_LEASES: Final = 2
"""How long a collected end is reserved for this process, in leases; then another process may collect it."""
LEFT_SECONDS: Final = 3_600.0
"""How long ends of an actor that is not known here are left to other workers; then they become dead letters."""
MOST_UNKNOWN: Final = 1_000
"""The most unknown actors of which the process remembers since when; with one more, it forgets all and starts again."""
MOST_EMITTED: Final = 1_000
"""The most ends, known to middleware and still in an outbox, that the process remembers; with one more, likewise."""


class Telling:
    """Tells ends until none are left, in a thread that then ends. Safe to share between threads."""

    def __init__(self, engine: Engine, gated: GatedActors, lease_ttl_ms: int) -> None:
        self._outbox, self._views = engine.outbox, engine.views
        self._gated = gated
        self._taken_ms = TAKEN_LEASES * lease_ttl_ms
        self._left_seconds = LEFT_SECONDS
        self._unknown_since: dict[str, float] = {}
        self._emitted: set[tuple[str, int]] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def begin(self, broker: Broker, lanes: tuple[str, ...]) -> None:
        """Start to tell the ends in the outboxes of these lanes, unless a thread does so already."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stopped = threading.Event()
                arguments = (broker, lanes, self._stopped)
                self._thread = threading.Thread(target=self._run, args=arguments, name=NAME, daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Stop after the current end, and wait a while for the thread."""
        self._stopped.set()
        thread = self._thread
        if thread is not None:
            thread.join(JOIN_SECONDS)

    def _run(self, broker: Broker, lanes: tuple[str, ...], stopped: threading.Event) -> None:
        done(lambda: self._tell_all(broker, lanes, stopped), NAME)

    def _tell_all(self, broker: Broker, lanes: tuple[str, ...], stopped: threading.Event) -> None:
        for lane in lanes:
            is_first = True
            while ends := self._outbox.collect(lane, COLLECTED, taken_ms=self._taken_ms):
                if is_first and (dropped := self._outbox.take_dropped(lane)):
                    log.warning("ends_dropped", lane=lane, count=dropped)
                is_first = False
                for end in ends:
                    if stopped.is_set():
                        return
                    done(lambda end=end: self._tell(broker, end), NAME)

    def _tell(self, broker: Broker, end: UntoldEnd) -> None:
        try:
            message = decoded(end.message)
            broker.get_actor(message.actor_name)
        except ActorNotFound as error:
            self._leave(end, error)
            return
        except (DecodeError, TypeError, AttributeError):
            # Nobody can be told: it becomes a dead letter, for an operator to look at.
            log.error("message_unreadable", execution_id=end.execution_id)
            self._outbox.tell(end, dead=True)
            return
        message.options["execution_id"] = end.execution_id  # the decoded message is a copy with options of its own
        error = self._exception_of(end)
        tell_sender(broker, message, error, f"{end.execution_id} {end.ended_at_ms}")
        self._let_know(broker, message, error, end)
        log.warning(
            "ended_without_result",
            execution_id=end.execution_id,
            actor=message.actor_name,
            state=end.state.value,
            reason=end.reason,
            error=str(error),
        )
        gated = self._gated.get(message.actor_name)
        self._outbox.tell(end, dead=gated is not None and gated.keep_unrun)
        self._emitted.discard((end.execution_id, end.ended_at_ms))

    def _exception_of(self, end: UntoldEnd) -> BaseException:
        """Return the exception that is stored for `get_result`."""
        if end.state is State.EXPIRED and end.reason == MAX_AGE:
            return SkipMessage("Message age limit exceeded")  # the text of Dramatiq's own middleware
        if end.state is State.EXPIRED:
            return ExecutionExpired(execution_id=end.execution_id)
        if end.state is State.CANCELLED:
            # The same class as the exception that is raised in a body.
            return ExecutionCancelled(
                f"execution {end.execution_id} was cancelled before it had a result: {end.reason}"
            )
        refused = read_raised(self._views, end.execution_id)  # the dead letter has it: too many bytes, say
        return ExecutionFailed(
            execution_id=end.execution_id, reason=end.reason, refusal="" if refused is None else refused.exception
        )

    def _let_know(self, broker: Broker, message: "Message[Any]", error: BaseException, end: UntoldEnd) -> None:
        # If Redis is away when the end is to be taken out, it is told again; but counters must not count it twice.
        known = (end.execution_id, end.ended_at_ms)
        if known in self._emitted:
            return
        if len(self._emitted) >= MOST_EMITTED:
            self._emitted.clear()
        self._emitted.add(known)
        emit_skipped(broker, message, error)

    def _leave(self, end: UntoldEnd, error: ActorNotFound) -> None:
        # Another worker of the lane may know the actor, and collects the end next; but perhaps no worker does any more.
        now, actor = time.monotonic(), str(error)
        if actor not in self._unknown_since:
            if len(self._unknown_since) >= MOST_UNKNOWN:
                self._unknown_since.clear()
            self._unknown_since[actor] = now
            log.warning("ends_left_to_others", execution_id=end.execution_id, error=actor)
        if now - self._unknown_since[actor] >= self._left_seconds:
            log.error("end_untold", execution_id=end.execution_id, error=actor)
            self._outbox.tell(end, dead=True)


def tell_sender(broker: Broker, message: "Message[Any]", error: BaseException, end: str) -> None:
    """Store an exception for `get_result`, and send `on_failure`, as Dramatiq's middleware do when a body has failed.

    Args:
        broker: The broker; without `Results` nothing is stored, without `Callbacks` nothing is sent.
        message: The message whose sender is told.
        error: The exception that it ended with.
        end: The name of the end, so that a repetition sends the callback under the same id.
    """
    failed = failed_proxy(message, error)
    for each in broker.middleware:
        if isinstance(each, Results):
            each.after_nack(broker, failed)
    if any(isinstance(each, Callbacks) for each in broker.middleware):
        _call_back(broker, message, error, end)


def _call_back(broker: Broker, message: "Message[Any]", error: BaseException, end: str) -> None:
    name = message.options.get("on_failure") or broker.get_actor(message.actor_name).options.get("on_failure")
    if not name:
        return
    told: dict[str, str] = {"type": type(error).__name__, "message": str(error)}
    try:
        callback: Message[Any] = cast("Any", broker).get_actor(name).message(message.asdict(), told)
        broker.enqueue(as_sent(callback, message_id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"on_failure {end}"))))
    except DuplicateExecution:
        return  # it was told before
    except (ActorNotFound, InvalidRequest) as problem:
        # A repetition would not help; as in a hook, a callback that fails does not affect the message itself.
        log.error("follow_up_rejected", message_id=message.message_id, error=str(problem))
