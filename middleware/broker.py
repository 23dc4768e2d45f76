"""``BandedRedisBroker``: a `RedisBroker` whose lanes are pulled, in strict priority order, under every limit.

In the flow: `PriorityBands` parks a gated message, which never goes into a Dramatiq list. The process admits as many
executions as it has free threads. An ack or nack settles an execution and admits the next one in the same round trip.
Actors without band, action or gates behave exactly as on `RedisBroker`. A process that stops hands back the grants
whose bodies have not begun; if it dies, its leases run out.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import redis
from dramatiq import Message
from dramatiq.broker import Consumer
from dramatiq.errors import BrokerConnectionError
from dramatiq.middleware import Middleware, MiddlewareError

from ..configs.logger import Logger
from ..configs.prefix import prefix_of
from ..configs.unread import warn_of_unread
from ..scheduler.model.errors import QueueRejected
from ..scheduler.queue import ExecutionQueueService
from ..scheduler.transport.direct_connection import check_client, readable
from ..scheduler.transport.scripts import DEADLINE_SECONDS
from .bands import PriorityBands
from .broker_arguments import check_names, with_client
from .errors import UNAVAILABLE
from .gate import ConcurrencyGate
from .grants.unsent import keep_unsent
from .groups import Groups
from .intake.envelope import DROPPED, checked, copied
from .intake.message_options import MAX_MESSAGE_BYTES
from .off_loop import off_loop
from .seeding import Seeding
from .shards.making import Given, share
from .shards.sending_together import send_together
from .shards.sharded_broker import ShardedBroker
from .worker.dramatiq_lists import DramatiqLists
from .worker.lane_bounds import LaneBounds
from .worker.lane_consumer import LaneConsumer
from .worker.list_consumer import DelayConsumer
from .worker.wake_lists import WakeLists
from .worker.worker_process import LaneProcess

if TYPE_CHECKING:
    from ..configs.settings import Settings

log = Logger(__name__)


class BandedRedisBroker(ShardedBroker):
    """Dramatiq's Redis broker with priority bands and concurrency gates."""

    pulls_lanes: ClassVar = True

    def __init__(
        self,
        *,
        url: str | None = None,
        middleware: list[Middleware] | None = None,
        prefix: str | None = None,
        lease_ttl_ms: int = 30_000,
        deadline_seconds: float = DEADLINE_SECONDS,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        settings: "Settings | None" = None,
        lanes: Mapping[str, Mapping[str, int | str]] | None = None,
        max_concurrent_executions: int | None = None,
        max_queue_size: int | None = None,
        max_executions_per_user: int | None = None,
        stale_timeout_seconds: int | None = None,
        ageing_seconds: int | None = None,
        shards: Given | None = None,
        consumed_shards: tuple[str, ...] = (),
        **parameters: Any,
    ) -> None:
        """Take the arguments of `RedisBroker` and more, and add both middleware.

        Args:
            url: The URL of the Redis or Valkey server, or of its sentinels: redis+sentinel://host,host/service/0. What
                it says goes before arguments of `redis.Redis`.
            middleware: A list in place of Dramatiq's default one; both of our middleware are added to it.
            prefix: The prefix of the queue's keys; by default it follows ``namespace=``, so that two namespaces on
                one server have no lane in common: ``exec_queue``, or ``staging:exec_queue``.
            lease_ttl_ms: How long a grant lasts without renewal; a third of it is the heartbeat.
            deadline_seconds: How long a call of the queue may take in all, retries included, whatever the server does.
            max_message_bytes: A longer message of a gated actor is refused.
            settings: Passed by `from_settings`. Workers write its limits, leases and retention where nobody set any.
            lanes: Bounds by lane, such as ``{"emails": {"max_queue_size": 5_000}}``, set where nobody has set any; and
                ``{"reports": {"fair_by": "user"}}``: within a band users take turns there.
            max_concurrent_executions: How many may hold a slot at once, in each lane but `executions` for which `lanes`
                has no such bound. The next four arguments apply to the same lanes.
            max_queue_size: How many may wait; one more is refused (QueueFull).
            max_executions_per_user: How many of one user may wait; one more is refused (UserLimitExceeded).
            stale_timeout_seconds: An execution that waits longer ends as EXPIRED.
            ageing_seconds: An execution that waits so long in a band below HIGH rises by one.
            shards: Further servers, by name, and the lanes or bands that live there, as in the section of the settings:
                ``{"high": "redis://…", "bulk": {"url": "redis://…", "lanes": ["reports"]}}``.
            consumed_shards: From which of them workers of this process take; `default` is this broker's own server.
            **parameters: As for `RedisBroker`.

        Raises:
            InvalidRequest: If there is no such argument, it would have no effect, or a lane's name, a bound or its
                value is not allowed.
            SettingsError: If a shard is wrong.
        """
        check_names(parameters, BandedRedisBroker.__init__)
        if settings is None:
            warn_of_unread("BandedRedisBroker()", instead="BandedRedisBroker.from_settings()")
        if parameters.get("client") is not None:
            check_client(parameters["client"])
        # Libraries that patch `Broker.__init__` (Sentry, say) add middleware there, before any of our attributes exist.
        self._brought: tuple[Middleware, ...] = ()
        super().__init__(middleware=middleware, **with_client(url, parameters, BandedRedisBroker.__init__))
        self._use(cast("redis.Redis", self.client))
        self.queue = ExecutionQueueService(
            self.plain_client,
            prefix=prefix_of(self.namespace) if prefix is None else prefix,
            deadline_seconds=deadline_seconds,
        )
        every = {
            "max_concurrent_executions": max_concurrent_executions,
            "max_queue_size": max_queue_size,
            "max_executions_per_user": max_executions_per_user,
            "stale_timeout_seconds": stale_timeout_seconds,
            "ageing_seconds": ageing_seconds,
        }
        self.bounds = LaneBounds(self.queue, lanes or {}, every)
        self.bands = PriorityBands(engine=self.queue, max_message_bytes=max_message_bytes)
        self.gate = ConcurrencyGate(engine=self.queue, lease_ttl_ms=lease_ttl_ms)
        self._wake_lists = WakeLists(self.queue.scripts)
        self.groups = Groups(self)
        self.lists = DramatiqLists(self.plain_client, self.namespace)
        self.process = LaneProcess(
            self.queue,
            self,
            self.bands.gated,
            self.gate.held,
            self._wake_lists,
            lease_ttl_ms,
            enqueue=self._enqueue,
            bounds=self.bounds,
        )
        self._brought = (self.bands, self.gate)
        seeding = [] if settings is None else [Seeding(self.queue, settings, self.bands.gated)]
        self.own = (*seeding, self.process, *self._brought)
        for each in self.own:
            self.add_middleware(each)
        if shards:
            given = {
                "settings": settings,
                "lanes": lanes,
                "max_message_bytes": max_message_bytes,
                **every,
                **parameters,
            }
            # The last one: it starts last, and is the first to be told that the worker has ended.
            workers = share(self, BandedRedisBroker, shards, consumed_shards, given, lease_ttl_ms=lease_ttl_ms)
            self._brought, self.own = (*self._brought, workers), (*self.own, workers)
            self.add_middleware(workers)

    @classmethod
    def from_settings(cls, **arguments: Any) -> Self:
        """Make a broker from ``BANDMASTER_…`` variables and the TOML file; arguments of the constructor override them.

        Raises:
            SettingsError: If a setting is wrong or unknown.
            QueueUnavailable: If the server's URL cannot be used.
            InvalidRequest: If there is no such argument, or it would have no effect.
        """
        from .configured import arguments_of_settings  # noqa: PLC0415  # a program without settings need not load it

        return cls(**arguments_of_settings(arguments, cls.__init__))

    def _use(self, client: "redis.Redis") -> None:
        # Messages are bytes: a client that decodes its replies is replaced by one that does not, to the same server.
        self.plain_client = readable(client)
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
        """As in Dramatiq. Our middleware stay last, so that their after-hooks run before those that publish results.

        Raises:
            ValueError: If it is one of our middleware: this broker adds both itself.
        """
        if isinstance(middleware, PriorityBands | ConcurrencyGate) and middleware not in self._brought:
            raise ValueError(f"BandedRedisBroker brings {type(middleware).__name__} itself: do not add another")
        super().add_middleware(middleware, before=before, after=after)
        ours = [each for each in self._brought if each in self.middleware]
        self.middleware = [each for each in self.middleware if each not in ours] + ours
        self.share_out()

    def emit_before(self, signal: str, *args: Any, **kwargs: Any) -> None:
        """As in Dramatiq."""
        if signal == "process_message":
            self.process.enter(args[0])
            if self.shards is not None:
                self.shards.enter(self)
        try:
            super().emit_before(signal, *args, **kwargs)
        except MiddlewareError as error:
            if signal in ("ack", "nack") and not isinstance(error, BrokerConnectionError):
                self.process.abandon(args[0])  # a hook stopped the ack or nack, and Dramatiq does not repeat it
            raise

    def emit_after(self, signal: str, *args: Any, **kwargs: Any) -> None:
        """As in Dramatiq, but a message whose grant was lost counts as skipped: its result is not published."""
        if signal == "process_message" and self.gate.has_lost(args[0]):
            self.gate.after_process_message(self, args[0], **kwargs)
            signal, kwargs = "skip_message", {}
        super().emit_after(signal, *args, **kwargs)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Consumer:
        """Return a consumer of a queue: of its lane and of its Dramatiq list."""
        kind = DelayConsumer if queue_name in self.delay_queues else LaneConsumer
        return kind(self, queue_name, prefetch, timeout, is_new=self.process.is_first_consumer())

    def enqueue(self, message: "Message[Any]", *, delay: int | None = None) -> "Message[Any]":
        """Enqueue a message: park it if its actor is gated.

        Args:
            message: The message.
            delay: Start no earlier than this many milliseconds from now. On a lane, the delay outlives any worker.

        Returns:
            A copy, whose ``options["execution_id"]`` names the execution if the actor is gated. With
            ``options["dropped"]`` it was not accepted, since the execution that is named has its unique key.

        Raises:
            QueueRejected: InvalidRequest, QueueFull, UserLimitExceeded, DuplicateExecution or NotUnique; nothing was
                kept.
            QueueUnavailable: If Redis did not answer.
        """
        if self.groups.take(message, delay):
            return message
        try:
            return self._enqueue(message, delay)
        except UNAVAILABLE as error:
            if not keep_unsent(message, delay, error):
                raise
            return message

    def _enqueue(self, message: "Message[Any]", delay: int | None) -> "Message[Any]":
        shard = self if self.shards is None else self.shards.of(message, self)
        return shard.enqueue_here(message, delay)

    def enqueue_here(self, message: "Message[Any]", delay: int | None) -> "Message[Any]":
        """Enqueue a message on this shard, whatever its lane and band."""
        if not self.bands.takes(message):
            listed: Message[Any] = cast("Any", super()).enqueue(message, delay=delay)
            if delay is None and message.queue_name in self.bands.gated.lanes:
                self._wake_lists.point_to_list(message.queue_name)
            return listed
        self.bounds.put_down((message.queue_name,))
        parked = copied(message)
        self.emit_before("enqueue", parked, delay)
        if DROPPED not in parked.options:
            self.emit_after("enqueue", parked, delay)
        return parked

    def send_many(
        self, messages: Iterable["Message[Any]"], *, delay: int | None = None
    ) -> "list[Message[Any] | QueueRejected]":
        """Enqueue many messages, a hundred a round trip; each is checked and accepted or refused on its own.

        Returns:
            One result for each message, in order: the message as `enqueue` returns it, or the reason of its refusal.

        Raises:
            InvalidRequest: If one is no message; nothing was sent.
            QueueUnavailable: If Redis did not answer; some may have been accepted, and are duplicates if sent again.
        """
        listed = checked(messages)  # before anything is sent
        return self.send_here(listed, delay) if self.shards is None else self.send_sharded(self.shards, listed, delay)

    def send_here(self, messages: "list[Message[Any]]", delay: int | None) -> "list[Message[Any] | QueueRejected]":
        """`send_many` on this shard, whatever the messages' lanes and bands."""
        return send_together(self, messages, delay)

    async def asend_many(
        self, messages: Iterable["Message[Any]"], *, delay: int | None = None
    ) -> "list[Message[Any] | QueueRejected]":
        """`send_many`, without blocking the event loop."""
        listed = checked(messages)
        return await off_loop(lambda: self.send_many(listed, delay=delay))

    def close(self) -> None:
        """Stop the broker's background threads, and close the queue's connections."""
        self.process.close()
        self.queue.close()
        super().close()
