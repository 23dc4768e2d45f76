"""``ShardedBroker``: what makes several brokers one, between `LaneBroker` and `BandedRedisBroker`.

In the flow: the broker that users have is the one of shard `default`. Each further shard has a broker with a client,
engine, grants and middleware of its own, which knows the same actors. An application's middleware is shared: hooks on
messages run for every shard, those on the process, its worker and declarations once. Without shards none of this costs
more than the question whether there are any.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Final

from dramatiq import Actor, Message
from dramatiq.middleware import Middleware, MiddlewareError
from dramatiq.worker import _WorkerMiddleware  # pyright: ignore[reportPrivateUsage]

from ...configs.logger import Logger
from ...configs.shards import DEFAULT
from ...scheduler.model.errors import QueueRejected
from ...scheduler.shards.asking import ask_all
from ..worker.lane_broker import LaneBroker
from .routing import Shards

log = Logger(__name__)
ONCE: Final = frozenset(
    {
        "process_boot",
        "worker_boot",
        "worker_shutdown",
        "declare_actor",
        "declare_queue",
        "declare_delay_queue",
    }
)
"""Signals whose hooks of an application's middleware run once, on the broker that users have."""


class ShardedBroker(LaneBroker, ABC):
    """A broker that may be one of several shards."""

    shards: "Shards[ShardedBroker] | None" = None
    """All shards; None: there are none."""
    shard: str = DEFAULT
    """The name of this one."""
    own: tuple[Middleware, ...] = ()
    """The middleware that this shard has for itself."""
    _shared: tuple[Middleware, ...] = ()

    def share(self, middleware: Iterable[Middleware], options: set[str]) -> None:
        """Take the middleware of the broker that users have, before this shard's own.

        Args:
            middleware: All that is not that broker's own.
            options: The actors' options that they know.
        """
        own = [each for each in self.middleware if each not in self._shared]
        self._shared = tuple(middleware)
        self.middleware = [*self._shared, *own]
        self.actor_options |= options

    def add_own(self, middleware: Middleware) -> None:
        """Add middleware of this shard alone, whose kind an application has given to the others, too."""
        self.middleware.append(middleware)

    def share_out(self) -> None:
        """Give an application's middleware to all other shards."""
        if self.shards is not None and self.shards.brokers[DEFAULT] is self:
            given = [each for each in self.middleware if each not in self.own and type(each) is not _WorkerMiddleware]
            for shard in self.shards.others.values():
                shard.share(given, self.actor_options)

    def emit_before(self, signal: str, *args: Any, **kwargs: Any) -> None:
        """As in Dramatiq, but once for the hooks of an application's middleware on the process."""
        if not self._shared or signal not in ONCE:
            super().emit_before(signal, *args, **kwargs)
            return
        for each in self._unshared():
            try:
                getattr(each, f"before_{signal}")(self, *args, **kwargs)
            except MiddlewareError:
                raise
            except Exception:  # as in Dramatiq: a hook that fails stops nothing
                log.exception("hook_failed", hook=f"before_{signal}")

    def emit_after(self, signal: str, *args: Any, **kwargs: Any) -> None:
        """As in Dramatiq, likewise."""
        if not self._shared or signal not in ONCE:
            super().emit_after(signal, *args, **kwargs)
            return
        for each in reversed(self._unshared()):
            try:
                getattr(each, f"after_{signal}")(self, *args, **kwargs)
            except Exception:  # likewise
                log.exception("hook_failed", hook=f"after_{signal}")

    def _unshared(self) -> list[Middleware]:
        return [each for each in self.middleware if each not in self._shared]

    def declare_actor(self, actor: "Actor[..., Any]") -> None:
        """As in Dramatiq, on every shard."""
        super().declare_actor(actor)
        for shard in self._further():
            shard.declare_actor(actor)

    def declare_queue(self, queue_name: str) -> None:
        """As in Dramatiq, on every shard."""
        super().declare_queue(queue_name)
        for shard in self._further():
            shard.declare_queue(queue_name)

    def do_qsize(self, queue_name: str) -> int:
        """Return how many messages a queue has, on all shards.

        Raises:
            QueueUnavailable: If a shard did not answer.
        """
        return super().do_qsize(queue_name) + sum(each.do_qsize(queue_name) for each in self._further())

    def flush(self, queue_name: str) -> None:
        """Drop all messages of a queue, and remove all executions of its lane, on every shard."""
        super().flush(queue_name)
        for shard in self._further():
            shard.flush(queue_name)

    def close(self) -> None:
        """Close all shards, and the connections of the further ones, which no caller has made."""
        for shard in self._further():
            shard.close()
            shard.client.close()
        super().close()

    def send_sharded(
        self, shards: "Shards[ShardedBroker]", messages: "list[Message[Any]]", delay: int | None
    ) -> "list[Message[Any] | QueueRejected]":
        """Send many messages, to all their shards at once; the outcomes are in the order of the messages.

        Raises:
            QueueUnavailable: If a shard did not answer. What the others accepted stays: sent again, it is a duplicate.
        """
        places: dict[ShardedBroker, list[int]] = {}
        for index, message in enumerate(messages):
            places.setdefault(shards.of(message, self), []).append(index)
        if len(places) == 1:
            (only,) = places
            return only.send_here(messages, delay)
        names = {name: broker for name, broker in shards.brokers.items() if broker in places}
        answers = ask_all(names, lambda broker: broker.send_here([messages[i] for i in places[broker]], delay))
        answers.all()
        outcomes: dict[int, Message[Any] | QueueRejected] = {}
        for name, sent in answers.found.items():
            outcomes |= zip(places[names[name]], sent, strict=True)
        return [outcomes[index] for index in range(len(messages))]

    @abstractmethod
    def enqueue_here(self, message: "Message[Any]", delay: int | None) -> "Message[Any]":
        """Enqueue a message on this shard, whatever its lane and band."""

    @abstractmethod
    def send_here(self, messages: "list[Message[Any]]", delay: int | None) -> "list[Message[Any] | QueueRejected]":
        """Enqueue many messages on this shard."""

    def _further(self) -> "list[ShardedBroker]":
        """The other shards, if this is the broker that users have."""
        shards = self.shards
        if shards is None or shards.brokers[DEFAULT] is not self:
            return []
        return list(shards.others.values())
