"""Tells the senders of messages that ended without a body: expired, cancelled, given up after crashes, refused.

In the flow: an admission says that an outbox of this process's lanes has something; a thread of its own collects a few
at a time, for a results backend may be slow. Of each it stores an exception, so that `get_result` raises, sends
`on_failure`, logs a warning, and takes the end out of the outbox, in this order. If the process dies between two of
these, or one fails, a worker of the lane does all of them again later: the exception is the same, and the callback has
the same id. The ends of an actor that is not known here are left to workers that know it, and in the end to nobody.
"""

import threading
import time
import uuid
from typing import Any, Final, cast

from dramatiq import Broker, Message, MessageProxy
from dramatiq.errors import ActorNotFound, DecodeError
from dramatiq.middleware import Callbacks, SkipMessage
from dramatiq.results import Results

from ...configs.logger import Logger
from ...scheduler.engine.outbox import Outbox, UntoldEnd
from ...scheduler.model.errors import DuplicateExecution, InvalidRequest
from ...scheduler.model.states import State
from ..errors import ExecutionExpired, ExecutionFailed
from ..grants.cancellation import ExecutionCancelled
from ..intake.envelope import as_sent, decoded
from ..intake.gated_actors import GatedActors
from ..round_thread import JOIN_SECONDS, done

log = Logger(__name__)
NAME: Final = "bandmaster-telling"
COLLECTED: Final = 10
MAX_AGE: Final = "max_age"
"""The reason of what was older than its own ``max_age``."""
TAKEN_LEASES: Final = 2
"""So many leases long an end is this process's to tell; then another's."""
LEFT_SECONDS: Final = 3_600.0
"""So long the ends of an actor that is not known here are left to others; then they are dead letters."""
MOST_UNKNOWN: Final = 1_000
"""Actors of which it is known since when they were not known; beyond, they are found out again."""


class Telling:
    """Tells ends until there are none, in a thread that lives as long. Safe to share between threads."""

    def __init__(self, outbox: Outbox, gated: GatedActors, lease_ttl_ms: int) -> None:
        self._outbox = outbox
        self._gated = gated
        self._taken_ms = TAKEN_LEASES * lease_ttl_ms
        self._left_seconds = LEFT_SECONDS
        self._unknown_since: dict[str, float] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def begin(self, broker: Broker, lanes: tuple[str, ...]) -> None:
        """Tell what is in the outboxes of these lanes, unless that is being done."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stopped = threading.Event()
                arguments = (broker, lanes, self._stopped)
                self._thread = threading.Thread(target=self._run, args=arguments, name=NAME, daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Begin no other; the one at hand is waited for a while."""
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
            # Nobody can be told: kept, for somebody to look at.
            log.error("message_unreadable", execution_id=end.execution_id)
            self._outbox.tell(end, dead=True)
            return
        message.options["execution_id"] = end.execution_id  # of a copy, whose options are its own
        tell_sender(broker, message, exception_of(end), f"{end.execution_id} {end.ended_at_ms}")
        log.warning(
            "ended_without_result",
            execution_id=end.execution_id,
            actor=message.actor_name,
            state=end.state.value,
            reason=end.reason,
        )
        gated = self._gated.get(message.actor_name)
        self._outbox.tell(end, dead=gated is not None and gated.keep_unrun)

    def _leave(self, end: UntoldEnd, error: ActorNotFound) -> None:
        # Another worker of the lane may know its actor, and is given it next; but perhaps none does any more.
        now, actor = time.monotonic(), str(error)
        if actor not in self._unknown_since:
            if len(self._unknown_since) >= MOST_UNKNOWN:
                self._unknown_since.clear()
            self._unknown_since[actor] = now
            log.warning("ends_left_to_others", execution_id=end.execution_id, error=actor)
        if now - self._unknown_since[actor] >= self._left_seconds:
            log.error("end_untold", execution_id=end.execution_id, error=actor)
            self._outbox.tell(end, dead=True)


def exception_of(end: UntoldEnd) -> BaseException:
    """What `get_result` says was raised."""
    if end.state is State.EXPIRED and end.reason == MAX_AGE:
        return SkipMessage("Message age limit exceeded")  # as Dramatiq's own middleware says it
    if end.state is State.EXPIRED:
        return ExecutionExpired(execution_id=end.execution_id)
    if end.state is State.CANCELLED:
        # Of the same name as what is raised in a body.
        return ExecutionCancelled(f"execution {end.execution_id} was cancelled before it had a result: {end.reason}")
    return ExecutionFailed(execution_id=end.execution_id, reason=end.reason)


def tell_sender(broker: Broker, message: "Message[Any]", error: BaseException, end: str) -> None:
    """Store an exception for `get_result`, and send `on_failure`, as Dramatiq's middleware do when a body has failed.

    Args:
        broker: Whose middleware; what it lacks is not done.
        message: Whose sender is told.
        error: What it ended with.
        end: Names the end, so that telling it again sends the callback under the same id.
    """
    failed = MessageProxy(message)
    failed.fail()
    failed.stuff_exception(error)
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
        # Telling it again would not help; as in a hook, the message itself is none the worse.
        log.error("follow_up_rejected", message_id=message.message_id, error=str(problem))
