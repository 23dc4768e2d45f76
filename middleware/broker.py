"""``BandedRedisBroker``: a `RedisBroker` whose lanes are pulled, in strict priority order, under every limit.

In the flow: a gated message is parked by `PriorityBands` and never put into a Dramatiq list; a lane's consumer admits
as many as there are free threads; ack and nack settle, and admit the next in the same round trip. Actors without band,
action or gates behave exactly as on `RedisBroker`. What a process holds and has not begun is handed back when it stops;
if it dies, its leases run out.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from dramatiq import Message
from dramatiq.broker import Consumer
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import Middleware, default_middleware

from ..scheduler.errors import QueueRejected
from ..scheduler.queue import ExecutionQueueService
from .bands import PriorityBands
from .gate import ConcurrencyGate
from .lane import LaneConsumer
from .process import LaneProcess


class BandedRedisBroker(RedisBroker):
    """Dramatiq's Redis broker with priority bands and concurrency gates."""

    pulls_lanes = True

    def __init__(
        self,
        *,
        url: str | None = None,
        middleware: list[Middleware] | None = None,
        prefix: str = "exec_queue",
        lease_ttl_ms: int = 30_000,
        **parameters: Any,
    ) -> None:
        """Takes what `RedisBroker` takes, and brings both middleware.

        Args:
            url: Of the Redis or Valkey server.
            middleware: In place of Dramatiq's default list; both of ours are added to it.
            prefix: What the queue's keys begin with.
            lease_ttl_ms: How long a grant lasts without renewal; a third of it is the heartbeat.
            **parameters: As for `RedisBroker`.
        """
        super().__init__(url=url, middleware=[], **parameters)
        self.queue = ExecutionQueueService(self.client, prefix=prefix)
        scripts = self.queue.scripts
        self.bands = PriorityBands(scripts=scripts)
        self.gate = ConcurrencyGate(scripts=scripts, lease_ttl_ms=lease_ttl_ms)
        self.process = LaneProcess(self.queue.transitions, self.bands, self.gate.held, lease_ttl_ms)
        if middleware is None:
            middleware = [each() for each in default_middleware]
        for each in (*middleware, self.process, self.bands, self.gate):
            super().add_middleware(each)

    def add_middleware(
        self,
        middleware: Middleware,
        *,
        before: type[Middleware] | None = None,
        after: type[Middleware] | None = None,
    ) -> None:
        """As in Dramatiq; ours stay last, so that their after-hooks come before those that publish results."""
        super().add_middleware(middleware, before=before, after=after)
        for ours in (self.bands, self.gate):
            self.middleware.remove(ours)
            self.middleware.append(ours)

    def emit_after(self, signal: str, *args: Any, **kwargs: Any) -> None:
        """As in Dramatiq; but a body that ended under a lost grant counts as skipped: it publishes nothing."""
        if signal == "process_message" and self.gate.has_lost(args[0]):
            signal, kwargs = "skip_message", {}
        super().emit_after(signal, *args, **kwargs)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Consumer:
        """A consumer of a queue: of its lane and its list."""
        plain = super().consume(queue_name, prefetch, timeout)
        return plain if queue_name in self.delay_queues else LaneConsumer(self, queue_name, plain, prefetch, timeout)

    def enqueue(self, message: "Message[Any]", *, delay: int | None = None) -> "Message[Any]":
        """Enqueue a message: park it if its actor is gated.

        Args:
            message: The message.
            delay: Not before this many milliseconds from now. On a lane it survives any worker.

        Returns:
            A copy, whose ``options["execution_id"]`` names the execution if the actor is gated.

        Raises:
            QueueRejected: InvalidRequest, QueueFull, UserLimitExceeded or DuplicateExecution; nothing was kept.
            QueueUnavailable: If Redis did not answer.
        """
        if message.actor_name not in self.bands.gated:
            message = super().enqueue(message, delay=delay)
            if message.queue_name in self.bands.lanes:
                self.client.rpush(self.queue.scripts.keys.wake(message.queue_name), "1")
            return message
        message = message.copy()
        self.emit_before("enqueue", message, delay)
        self.emit_after("enqueue", message, delay)
        return message

    def send_many(
        self, messages: Iterable["Message[Any]"], *, delay: int | None = None
    ) -> "list[Message[Any] | QueueRejected]":
        """Enqueue many messages, each with all the checks and for itself, a hundred a round trip.

        Returns:
            A result each, in order: the message as `enqueue` returns it, or why it was refused.
        """
        results: list[Message[Any] | QueueRejected] = []
        parked: list[int] = []
        with self.bands.bulk() as candidates:
            for message in messages:
                try:
                    if message.actor_name in self.bands.gated:
                        message = message.copy()
                        self.emit_before("enqueue", message, delay)
                        parked.append(len(results))
                        results.append(message)
                    else:
                        results.append(self.enqueue(message, delay=delay))
                except QueueRejected as rejection:
                    results.append(rejection)
        self._park_many(results, parked, candidates, delay)
        return results

    def _park_many(
        self,
        results: "list[Message[Any] | QueueRejected]",
        parked: list[int],
        candidates: Sequence[Any],
        delay: int | None,
    ) -> None:
        outcomes = self.bands.transitions.park_many(candidates)
        for index, outcome in zip(parked, outcomes, strict=True):
            if isinstance(outcome, QueueRejected):
                results[index] = outcome
            else:
                self.emit_after("enqueue", results[index], delay)

    def wait_for_wake(self, lane: str, seconds: float) -> None:
        """Sit on a lane's wake list until a token comes, for so long at most."""
        longest = self.client.connection_pool.connection_kwargs.get("socket_timeout") or 5.0
        self.client.blpop([self.queue.scripts.keys.wake(lane)], timeout=min(seconds, longest / 2))

    def do_qsize(self, queue_name: str) -> int:
        """How many messages a queue has: its list, its delay queue and its lane."""
        return int(self._dispatch("qsize")(queue_name)) + self.queue.views.lane_size(queue_name)

    def flush(self, queue_name: str) -> None:
        """Drop all messages of a queue, and cancel all executions of its lane."""
        super().flush(queue_name)
        for execution_id in self.queue.views.members(queue_name):
            self.queue.remove(execution_id)
