"""Consumes one queue in memory: admitted executions of its lane, and ungated messages as `StubBroker` does.

In the flow: a `ConsumerThread` fetches the next message, worker threads acknowledge it here. A gated message is handed
out only when a thread is free for it, so none waits in the worker while a message of higher priority is sent.
"""

from collections.abc import Callable, Iterable
from queue import Queue
from typing import Any

from dramatiq import Message, MessageProxy
from dramatiq.broker import Consumer

from bandmaster.middleware.intake.envelope import decoded
from bandmaster.scheduler.model.states import State

from .execution import Execution
from .queue import MemoryQueue


class KeptMessage(MessageProxy):
    """A message that keeps its exception, so that `join` can raise it in the test."""

    def clear_exception(self) -> None:
        """Keep the exception, as `StubBroker` does."""


class AdmittedMessage(KeptMessage):
    """The message of a running execution."""

    def __init__(self, execution: Execution) -> None:
        message: Message[Any] = decoded(execution.message)
        message.options["execution_id"] = execution.candidate.execution_id
        super().__init__(message)
        self.execution = execution


class MemoryConsumer(Consumer):
    """Consumes one queue: its lane and its list."""

    def __init__(
        self,
        queue: MemoryQueue,
        lane: str,
        listed: Consumer,
        messages: "Queue[bytes]",
        bury: Callable[[MessageProxy], None],
        prefetch: int,
        timeout_ms: int,
    ) -> None:
        """Combines the sources of gated and of ungated messages.

        Args:
            queue: The queue of gated messages.
            lane: The queue's name.
            listed: Dramatiq's consumer of ungated messages.
            messages: The list that `listed` takes from; it counts gated messages as unfinished, too.
            bury: Called with each dead letter, to keep it.
            prefetch: How many ungated messages to take at once.
            timeout_ms: How long to wait for a message.
        """
        self._queue, self._lane, self._listed, self._messages, self._bury = queue, lane, listed, messages, bury
        self._prefetch, self._timeout_seconds = prefetch, timeout_ms / 1000
        self._outstanding = 0
        queue.consume(lane)

    def __next__(self) -> MessageProxy | None:
        execution = self._queue.take(self._lane, self._prefetch, self._timeout_seconds, unless=self._has_listed)
        if execution is not None:
            return AdmittedMessage(execution)
        message = next(self._listed) if self._has_listed() else None
        self._outstanding += message is not None
        return message

    def _has_listed(self) -> bool:
        return self._outstanding < self._prefetch and not self._messages.empty()

    def ack(self, message: MessageProxy) -> None:
        """Settle a message whose body is over: its execution ended, or waits for a retry."""
        if not isinstance(message, AdmittedMessage):
            self._listed.ack(message)
            self._leave_room()
        elif self._queue.end(message.execution, State.COMPLETED):
            self._messages.task_done()

    def nack(self, message: MessageProxy) -> None:
        """Settle a message that failed for good, and keep it as a dead letter."""
        if not isinstance(message, AdmittedMessage):
            self._listed.nack(message)
            self._leave_room()
            return
        self._queue.end(message.execution, State.FAILED)
        self._bury(message)
        self._messages.task_done()

    def _leave_room(self) -> None:
        self._outstanding -= 1
        self._queue.tell()

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Put messages that a stopping worker has not begun back to their place; `StubBroker` drops ungated ones."""
        for message in messages:
            if isinstance(message, AdmittedMessage):
                self._queue.hand_back(message.execution)
