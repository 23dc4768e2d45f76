"""``Shards``: the brokers of one sharded broker, and which of them takes a message.

In the flow: `BandedRedisBroker` asks for each message that it enqueues. The retry of the execution that a thread runs
goes where its grant is; a message on a queue that stays at home (`keep_here`) goes to the shard whose message this
thread works on; any other by lane and band. Memory only: a process that dies here has sent a message or has not.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Generic, TypeVar, cast

from dramatiq import Message
from dramatiq.common import q_name

from ...configs.shards import DEFAULT, ShardSettings
from ...scheduler.model.errors import InvalidRequest
from ...scheduler.model.priority import Priority
from ...scheduler.queue import ExecutionQueueService
from ...scheduler.shards.asking import shard_of
from ...scheduler.shards.mapping import ShardMap
from ..bands import held_again
from ..intake.actor_options import GatedActor, parse_band
from ..worker.lane_broker import LaneBroker

B = TypeVar("B", bound=LaneBroker)
_here: ContextVar[Any] = ContextVar("bandmaster_shard", default=None)


class Shards(Generic[B]):
    """The brokers of all shards, by name, `default` first. Safe to share between threads."""

    def __init__(
        self,
        home: B,
        shards: Mapping[str, ShardSettings],
        make: Callable[[ShardSettings], B],
        consumed: tuple[str, ...] = (),
    ) -> None:
        """Make a broker for each shard; nothing is connected.

        Args:
            home: The broker of `default`, which users have.
            shards: The others.
            make: Makes the broker of one of them.
            consumed: From which shards workers of this process take; none named: from all.

        Raises:
            InvalidRequest: If one of `consumed` is no shard.
        """
        self.map: Final = ShardMap(shards)
        for name in consumed:
            if name not in self.map.names:
                raise InvalidRequest(
                    "consumed_shards", f"there is no shard {name!r}", allowed=", ".join(self.map.names)
                )
        self.consumed: Final = consumed or self.map.names
        self.brokers: Final[dict[str, B]] = {DEFAULT: home} | {name: make(shard) for name, shard in shards.items()}
        self._kept_here: frozenset[str] = frozenset()
        for name, broker in self.brokers.items():
            broker.bands.gated.schedule_only(self._is_of(name))

    def _is_of(self, name: str) -> Callable[[GatedActor], bool]:
        """Whether what an actor is sent by the clock is on a shard: on two, each occurrence would run twice."""
        return lambda gated: self.map.of(gated.lane, gated.band) == name

    @property
    def others(self) -> dict[str, B]:
        """The brokers of all shards but `default`."""
        return {name: each for name, each in self.brokers.items() if name != DEFAULT}

    @property
    def queues(self) -> dict[str, ExecutionQueueService]:
        """The queue of each shard."""
        return {name: each.queue for name, each in self.brokers.items()}

    def keep_here(self, queue_name: str) -> None:
        """Have the messages of a queue stay on the shard whose work sends them: they are about that server's own."""
        self._kept_here |= {queue_name}

    @contextmanager
    def at(self, broker: B) -> Generator[None]:
        """A context whose code works for one shard."""
        token = _here.set(broker)
        try:
            yield
        finally:
            _here.reset(token)

    def enter(self, broker: B) -> None:
        """Note that this thread works on a message of a shard."""
        _here.set(broker)

    def of(self, message: "Message[Any]", asked: B) -> B:
        """Return the broker that takes a message.

        Args:
            message: The message.
            asked: The broker that was asked to enqueue it.
        """
        if held_again(message) is not None:
            return asked
        lane = q_name(message.queue_name)
        if lane in self._kept_here:
            # Asked of one of the others, it is about that server; of the one that users have, about where they work.
            return asked if asked is not self.brokers[DEFAULT] else _here.get() or asked
        if lane not in self.map.of_lane and not self.map.of_band:
            return self.brokers[DEFAULT]
        gated = asked.bands.gated.get(message.actor_name)
        return self.brokers[self.map.of(lane, None if gated is None else _band(gated, message))]

    def find(self, execution_id: str) -> str:
        """Return the name of the shard that knows an execution; all are asked at once.

        Raises:
            UnknownExecution: If all answered, and none knows it.
            QueueUnavailable: If those that answered do not know it, and others did not answer.
        """
        return shard_of(self.queues, execution_id, lambda queue: bool(queue.views.meta(execution_id)))


def here() -> LaneBroker | None:
    """Return the broker of the shard whose message the calling code works on; None: there are no shards."""
    return _here.get()


def _band(gated: GatedActor, message: "Message[Any]") -> Priority:
    """Return the band of a message; if it names none that there is, any: whoever takes it refuses it."""
    try:
        if gated.runs_events:
            event: Any = message.args[0] if message.args else {}
            is_table = isinstance(event, Mapping)
            named = cast("Mapping[str, Any]", event).get("priority") if is_table else getattr(event, "priority", None)
            return Priority.NORMAL if named is None else Priority.parse(named)
        named = message.options.get("band")
        return gated.band if named is None else parse_band(named)
    except InvalidRequest:
        return gated.band
