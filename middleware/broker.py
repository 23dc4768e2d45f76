"""``BandedRedisBroker``: a `RedisBroker` whose lanes are pulled, in strict priority order, under every limit.

In the flow: a gated message is parked by `PriorityBands` and never put into a Dramatiq list; a lane's consumer admits
as many as there are free threads; ack and nack settle, and admit the next in the same round trip. Actors without band,
action or gates behave exactly as on `RedisBroker`. What a process holds and has not begun is handed back when it stops;
if it dies, its leases run out.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Final, cast

import redis
import structlog
from dramatiq import Message
from dramatiq.broker import Consumer
from dramatiq.brokers.redis import RedisBroker
from dramatiq.common import q_name
from dramatiq.errors import BrokerConnectionError
from dramatiq.middleware import Middleware, MiddlewareError, default_middleware

from ..scheduler.errors import QueueRejected
from ..scheduler.queue import ExecutionQueueService
from ..scheduler.scripts import readable
from .bands import PriorityBands
from .current import current_entry, is_settling
from .delivery import copied
from .errors import UNAVAILABLE
from .gate import ConcurrencyGate
from .lane import LIST_TOKEN, LaneConsumer
from .lists import DelayConsumer
from .process import LaneProcess

log = structlog.get_logger(__name__)
MAX_LIST_TOKENS: Final = 64
SOCKET_TIMEOUT_SECONDS: Final = 5.0


class BandedRedisBroker(RedisBroker):
    """Dramatiq's Redis broker with priority bands and concurrency gates."""

    pulls_lanes: ClassVar = True

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
        self._use(cast("redis.Redis", self.client))
        self.queue = ExecutionQueueService(self.plain_client, prefix=prefix)
        scripts = self.queue.scripts
        self.bands = PriorityBands(scripts=scripts)
        self.gate = ConcurrencyGate(scripts=scripts, lease_ttl_ms=lease_ttl_ms)
        self.process = LaneProcess(
            self.queue.transitions, self.bands, self.gate.held, lease_ttl_ms, enqueue=self._enqueue
        )
        if middleware is None:
            middleware = [each() for each in default_middleware]
        for each in (*middleware, self.process, self.bands, self.gate):
            self.add_middleware(each)

    def _use(self, client: "redis.Redis") -> None:
        # Messages are bytes: a client that decodes its replies is replaced by one to the same server that does not.
        self.plain_client: Any = readable(client)  # redis-py types every reply as a union with its async twin
        if self.plain_client is not client:
            self.client = self.plain_client
            self.scripts: dict[str, Any] = {
                name: self.plain_client.register_script(each.script) for name, each in self.scripts.items()
            }

    def add_middleware(
        self,
        middleware: Middleware,
        *,
        before: type[Middleware] | None = None,
        after: type[Middleware] | None = None,
    ) -> None:
        """As in Dramatiq; ours stay last, so that their after-hooks come before those that publish results.

        Raises:
            ValueError: If it is one of ours: this broker brings both.
        """
        if isinstance(middleware, PriorityBands | ConcurrencyGate) and middleware not in (self.bands, self.gate):
            raise ValueError(f"BandedRedisBroker brings {type(middleware).__name__} itself: do not add another")
        super().add_middleware(middleware, before=before, after=after)
        ours = [each for each in (self.bands, self.gate) if each in self.middleware]
        self.middleware = [each for each in self.middleware if each not in ours] + ours

    def emit_before(self, signal: str, *args: Any, **kwargs: Any) -> None:
        """As in Dramatiq."""
        if signal == "process_message":
            self.process.enter(args[0])
        try:
            super().emit_before(signal, *args, **kwargs)
        except MiddlewareError as error:
            if signal in ("ack", "nack") and not isinstance(error, BrokerConnectionError):
                self.process.abandon(args[0])  # a hook forbade it, and Dramatiq does not try again
            raise

    def emit_after(self, signal: str, *args: Any, **kwargs: Any) -> None:
        """As in Dramatiq; but a body that ended under a lost grant counts as skipped: it publishes nothing."""
        if signal == "process_message" and self.gate.has_lost(args[0]):
            self.gate.after_process_message(self, args[0], **kwargs)
            signal, kwargs = "skip_message", {}
        super().emit_after(signal, *args, **kwargs)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Consumer:
        """A consumer of a queue: of its lane and its list."""
        kind = DelayConsumer if queue_name in self.delay_queues else LaneConsumer
        return kind(self, queue_name, prefetch, timeout, is_new=self.process.is_first_consumer())

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
        try:
            return self._enqueue(message, delay)
        except UNAVAILABLE as error:
            entry = current_entry()
            if entry is None or not is_settling():
                raise
            # A hook's, after a body: Dramatiq would swallow it. It is sent before the body's grant is settled.
            log.warning("follow_up_deferred", execution_id=entry.grant.execution_id, error=str(error))
            entry.unsent.append((message, delay))
            return message

    def _enqueue(self, message: "Message[Any]", delay: int | None) -> "Message[Any]":
        if message.actor_name not in self.bands.gated:
            listed: Message[Any] = cast("Any", super()).enqueue(message, delay=delay)
            if delay is None and message.queue_name in self.bands.lanes:
                self._point_to_list(message.queue_name)
            return listed
        parked = copied(message)
        self.emit_before("enqueue", parked, delay)
        self.emit_after("enqueue", parked, delay)
        return parked

    def _point_to_list(self, lane: str) -> None:
        wake = self.queue.scripts.keys.wake(lane)
        try:
            # No script pops tokens that nobody waits for, so their number is bounded here.
            self.plain_client.pipeline(transaction=False).rpush(wake, LIST_TOKEN).ltrim(
                wake, 0, MAX_LIST_TOKENS - 1
            ).execute()
        except redis.RedisError as error:
            log.debug("list_token_lost", lane=lane, error=str(error))  # it costs a second; the message is sent

    def send_many(
        self, messages: Iterable["Message[Any]"], *, delay: int | None = None
    ) -> "list[Message[Any] | QueueRejected]":
        """Enqueue many messages, each with all the checks and for itself, a hundred a round trip.

        Returns:
            A result each, in order: the message as `enqueue` returns it, or why it was refused.

        Raises:
            QueueUnavailable: If Redis did not answer; some may have been accepted, and are duplicates the next time.
        """
        results: list[Message[Any] | QueueRejected] = []
        parked: dict[int, int] = {}
        messages = list(messages)  # what making them raises comes before anything is sent
        with self.bands.bulk() as parking:
            for message in messages:
                try:
                    if message.actor_name in self.bands.gated:
                        sent, known = copied(message), len(parking)
                        self.emit_before("enqueue", sent, delay)
                        # A hook may have sent others before it; the retry of the current message is no candidate.
                        if len(parking) > known:
                            parked[len(results)] = len(parking) - 1
                        results.append(sent)
                    else:
                        results.append(self._enqueue(message, delay))
                except QueueRejected as rejection:
                    results.append(rejection)
            outcomes = parking.finish()
        for index, result in enumerate(results):
            outcome = outcomes[parked[index]] if index in parked else None
            if isinstance(outcome, QueueRejected):
                results[index] = outcome
            elif outcome is not None:
                self.emit_after("enqueue", result, delay)
        return results

    def wait_for_wake(self, lane: str, seconds: float) -> bytes | None:
        """Sit on a lane's wake list until a token comes, for so long at most.

        Returns:
            The token; None if none came.
        """
        popped = self.plain_client.blpop([self.queue.scripts.keys.wake(lane)], timeout=self._bounded(seconds))
        return popped[1] if popped else None

    def wait_for_list(self, queue_name: str, seconds: float) -> None:
        """Wait until a Dramatiq list is not empty, for so long at most, and take nothing from it."""
        key = f"{self.namespace}:{queue_name}"
        self.plain_client.blmove(key, key, self._bounded(seconds), "LEFT", "LEFT")

    def _bounded(self, seconds: float) -> float:
        timeout: float | None = self.plain_client.connection_pool.connection_kwargs.get("socket_timeout")
        return min(seconds, (timeout or SOCKET_TIMEOUT_SECONDS) / 2)

    def command(self, name: str, queue_name: str, *arguments: str | int) -> Any:
        """Have Dramatiq's own script do something with a list."""
        return cast("Any", self)._dispatch(name)(queue_name, *arguments)

    def do_qsize(self, queue_name: str) -> int:
        """How many messages a queue has: its list, its delay queue and its lane."""
        return int(self.command("qsize", queue_name)) + self.queue.views.lane_size(q_name(queue_name))

    def flush(self, queue_name: str) -> None:
        """Drop all messages of a queue, and cancel all executions of its lane."""
        super().flush(queue_name)
        for execution_id in self.queue.views.members(queue_name):
            self.queue.remove(execution_id)

    def close(self) -> None:
        """Stop what this broker runs in the background."""
        self.process.close()
        super().close()
