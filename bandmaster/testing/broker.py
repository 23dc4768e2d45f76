"""``BandedStubBroker``: a `StubBroker` of Dramatiq that runs gated actors in order and under limits, without a server.

In the flow: it replaces `BandedRedisBroker` in an application's tests. Both read messages with the same code, so
`send()` refuses the same messages with the same errors. Ungated messages are left to `StubBroker`.
"""

import time
from collections.abc import Iterable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from typing import Any, cast

from dramatiq import Actor, Message
from dramatiq.broker import Consumer
from dramatiq.brokers.stub import StubBroker
from dramatiq.errors import QueueNotFound
from dramatiq.middleware import Middleware

from bandmaster.configs.logger import Logger
from bandmaster.middleware import ConcurrencyGate, PriorityBands
from bandmaster.middleware.actor import let_await
from bandmaster.middleware.errors import ExecutionFailed
from bandmaster.middleware.grants.cancellation import ExecutionCancelled
from bandmaster.middleware.grants.context import current_entry, enter, is_settling, settle
from bandmaster.middleware.intake.actor_options import ACTOR_OPTIONS, GatedActor, is_gated, read_actor, refuse_ungated
from bandmaster.middleware.intake.declared_limits import by_lane, check_agreement
from bandmaster.middleware.intake.dropping import drop, undrop
from bandmaster.middleware.intake.envelope import DROPPED, as_sent, checked, copied, decoded
from bandmaster.middleware.intake.execution_ids import derived_id, execution_id_of
from bandmaster.middleware.intake.message_options import has_made_up_id, read_message
from bandmaster.middleware.intake.misspelt_options import check_options
from bandmaster.middleware.intake.retry_detection import is_own
from bandmaster.middleware.off_loop import off_loop
from bandmaster.middleware.worker.skipped import emit_skipped
from bandmaster.middleware.worker.telling import tell_sender
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.errors import DuplicateExecution, NotUnique, QueueRejected
from bandmaster.scheduler.model.identifiers import new_execution_id

from .consumer import AdmittedMessage, KeptMessage, MemoryConsumer
from .execution import Execution
from .queue import MemoryQueue

log = Logger(__name__)


class BandedStubBroker(StubBroker):
    """A broker for tests: gated actors in memory."""

    def __init__(self, middleware: list[Middleware] | None = None, *, fail_fast_default: bool = True) -> None:
        """Takes the arguments of `StubBroker`, and needs no middleware of ours."""
        self.gated: dict[str, GatedActor] = {}
        self.queue = MemoryQueue()
        super().__init__(middleware, fail_fast_default=fail_fast_default)
        self.actor_options |= ACTOR_OPTIONS

    def add_middleware(
        self,
        middleware: Middleware,
        *,
        before: type[Middleware] | None = None,
        after: type[Middleware] | None = None,
    ) -> None:
        """As in Dramatiq.

        Raises:
            ValueError: If it is a middleware of ours: those need a server, and this broker does their work itself.
        """
        if isinstance(middleware, PriorityBands | ConcurrencyGate):
            raise ValueError(f"BandedStubBroker does what {type(middleware).__name__} does: do not add it")
        super().add_middleware(middleware, before=before, after=after)

    def declare_actor(self, actor: "Actor[..., Any]") -> None:
        """As in Dramatiq.

        Raises:
            InvalidRequest: If an option of ours is not allowed.
        """
        self._read(actor)
        super().declare_actor(actor)

    def adopt(self, actors: "Iterable[Actor[..., Any]]") -> None:
        """Take over actors that another broker has declared, without declaring them to the middleware again."""
        for actor in actors:
            self._read(actor)
            self.declare_queue(actor.queue_name)
            self.actors[actor.actor_name] = actor

    def _read(self, actor: "Actor[..., Any]") -> None:
        let_await(actor)
        if is_gated(actor):
            gated = read_actor(actor)
            check_agreement(gated.name, gated.declared, {name: each.declared for name, each in self.gated.items()})
            self.gated[actor.actor_name] = gated
        else:
            refuse_ungated(actor, self.middleware)
            self.gated.pop(actor.actor_name, None)
        declared = [(gated.lane, gated.declared) for gated in self.gated.values()]
        limits = by_lane([actor.queue_name], [(lane, each.limits) for lane, each in declared])
        rates = by_lane([actor.queue_name], [(lane, each.rates) for lane, each in declared])
        self.queue.controls.declare_limits(limits)
        self.queue.controls.rates.declare(rates)

    def emit_before(self, signal: str, *args: Any, **kwargs: Any) -> None:
        """As in Dramatiq."""
        if signal == "worker_boot":
            self.queue.begin_boot()
        elif signal == "process_message":
            # `current_grant()` reads the grant from this entry; other fields of a real entry are about leases.
            enter(cast("Any", args[0].execution) if isinstance(args[0], AdmittedMessage) else None)
        super().emit_before(signal, *args, **kwargs)

    def emit_after(self, signal: str, *args: Any, **kwargs: Any) -> None:
        """As in Dramatiq."""
        if signal in ("process_message", "skip_message"):
            settle()
        elif signal == "worker_shutdown":
            self.queue.shut_down(args[0].worker_threads)
        super().emit_after(signal, *args, **kwargs)
        if signal == "worker_boot":
            self.queue.end_boot(args[0].worker_threads, args[0].consumers)

    def enqueue(self, message: "Message[Any]", *, delay: int | None = None) -> "Message[Any]":
        """Enqueue a message; if its actor is gated, it waits in its band.

        Returns:
            A copy, whose ``options["execution_id"]`` is the execution's id if the actor is gated.

        Raises:
            QueueRejected: Of any kind; nothing was kept.
            QueueNotFound: If no actor of that queue is declared.
        """
        gated = self.gated.get(message.actor_name)
        if gated is None:
            listed: Message[Any] = super().enqueue(message, delay=delay)  # pyright: ignore[reportUnknownVariableType]
            self.queue.tell()
            return listed
        if message.queue_name not in self.queues:
            raise QueueNotFound(message.queue_name)
        parked = copied(message)
        self.emit_before("enqueue", parked, delay)
        undrop(parked)
        self._park(gated, parked, delay)
        if DROPPED not in parked.options:
            self.emit_after("enqueue", parked, delay)
        return parked

    def send_many(
        self, messages: "Iterable[Message[Any]]", *, delay: int | None = None
    ) -> "list[Message[Any] | QueueRejected]":
        """Enqueue many messages, each independently of the others.

        Returns:
            One result for each, in order: the message as `enqueue` returns it, or the error that refused it.

        Raises:
            InvalidRequest: If one is no message; nothing was sent.
        """
        results: list[Message[Any] | QueueRejected] = []
        for message in checked(messages):
            try:
                results.append(self.enqueue(message, delay=delay))
            except QueueRejected as rejection:
                results.append(rejection)
        return results

    async def asend_many(
        self, messages: "Iterable[Message[Any]]", *, delay: int | None = None
    ) -> "list[Message[Any] | QueueRejected]":
        """`send_many`, without blocking the event loop."""
        listed = checked(messages)
        return await off_loop(lambda: self.send_many(listed, delay=delay))

    def _park(self, gated: GatedActor, message: "Message[Any]", delay_ms: int | None) -> None:
        sent = as_sent(message)
        running = cast("Execution | None", current_entry())
        try:
            check_options(self, sent)
            candidate = read_message(gated, sent, delay_ms, int(time.time() * 1000))
            if running is not None and _is_retry(sent, candidate, running):
                execution_id = running.candidate.execution_id
                running.again = (replace(candidate, execution_id=execution_id), sent.encode())
                message.options.update(sent.options, execution_id=execution_id)
                return
            message.options.update(sent.options, execution_id=self._accept(sent, candidate))
        except NotUnique as conflict:
            if is_settling() and not conflict.is_dropped:
                self._keep_refused(sent, conflict)
            drop(self, message, conflict)
            return
        except QueueRejected as rejection:
            if is_settling():
                self._keep_refused(sent, rejection)
            raise
        messages = self.queues[sent.queue_name]
        with messages.mutex:
            messages.unfinished_tasks += 1  # `join` waits for it

    def _accept(self, sent: "Message[Any]", candidate: Candidate) -> str:
        try:
            self._tell_replaced(self.queue.park(candidate, sent.encode()))
        except DuplicateExecution:
            is_repeated = not is_settling() and ("execution_id" in sent.options or not has_made_up_id(sent))
            if candidate.origin or is_repeated:
                raise
            # The sender gave no id, as in a pipeline that runs again: accept another execution of the same message.
            candidate = replace(candidate, execution_id=derived_id(sent.message_id, new_execution_id()))
            self._tell_replaced(self.queue.park(candidate, sent.encode()))
        return candidate.execution_id

    def _tell_replaced(self, replaced: Execution | None) -> None:
        if replaced is None:
            return
        message, name = decoded(replaced.message), replaced.candidate.execution_id
        self.queues[message.queue_name].task_done()
        copy_context().run(self._tell_end, message, ExecutionCancelled(f"execution {name} was replaced"), name)

    def _keep_refused(self, sent: "Message[Any]", rejection: QueueRejected) -> None:
        # Dramatiq swallows exceptions of a hook that runs after a body; as a dead letter, `join` reports it.
        log.error("follow_up_rejected", message_id=sent.message_id, code=rejection.code, error=str(rejection))
        refused = KeptMessage(sent)
        refused.fail()
        refused.stuff_exception(rejection)
        self.dead_letters_by_queue[sent.queue_name].append(refused)
        # In a context of its own, not that of the body whose hook sent it, as another worker would do it later.
        copy_context().run(self._tell_sender, sent, rejection)

    def _tell_sender(self, sent: "Message[Any]", rejection: QueueRejected) -> None:
        refusal = f"{type(rejection).__name__}: {rejection}"
        error = ExecutionFailed(execution_id=execution_id_of(sent), reason=rejection.code, refusal=refusal)
        self._tell_end(sent, error, execution_id_of(sent))

    def _tell_end(self, sent: "Message[Any]", error: BaseException, name: str) -> None:
        enter(None)
        with suppress(QueueRejected):
            tell_sender(self, sent, error, name)
        emit_skipped(self, sent, error)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 100) -> Consumer:
        """A consumer of a queue: of its lane (gated messages) and its list (ungated ones)."""
        listed = super().consume(queue_name, prefetch, timeout)
        if queue_name in self.delay_queues:
            return listed
        bury = self.dead_letters_by_queue[queue_name].append
        return MemoryConsumer(self.queue, queue_name, listed, self.queues[queue_name], bury, prefetch, timeout)

    def waiting(self, queue_name: str) -> "list[Message[Any]]":
        """The waiting messages of a lane, in the order in which they may start; those not yet due come last."""
        return [decoded(execution.message) for execution in self.queue.waiting(queue_name)]

    def flush(self, queue_name: str) -> None:
        """Drop all messages of a queue."""
        super().flush(queue_name)
        for _ in range(self.queue.drop(queue_name)):
            self.queues[queue_name].task_done()

    def flush_all(self) -> None:
        """Drop all messages, and forget which ids were used. Limits are kept."""
        super().flush_all()
        self.queue.forget_ended()


def _is_retry(sent: "Message[Any]", candidate: Candidate, running: Execution) -> bool:
    """Whether a message is a retry of the running one, with the same gates, whatever its arguments."""
    held = decoded(running.message)
    return (
        is_own(sent, running.candidate.execution_id, held)
        and sent.actor_name == held.actor_name
        and _passes(candidate) == _passes(running.candidate)
    )


def _passes(candidate: Candidate) -> tuple[object, ...]:
    return candidate.lane, candidate.band, candidate.action, candidate.user_id, candidate.gates
