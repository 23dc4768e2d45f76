"""`BandedRedisBroker` with what Dramatiq's tests ask of a `StubBroker`: joining raises what a body raised.

Most of the tests are written for `StubBroker` and could run on any broker, but for this: a message that was
dead-lettered fails the join, and the dead letters can be looked at.
"""

from typing import Any

from dramatiq import Broker, MessageProxy, Middleware, QueueNotFound

from bandmaster import BandedRedisBroker


class DeadLetters(Middleware):
    """Keeps what was rejected, and how its exception was made: the exception itself is not to be kept alive."""

    def __init__(self) -> None:
        self.messages: list[MessageProxy] = []
        self.raised: dict[str, list[tuple[type[BaseException], tuple[Any, ...]]]] = {}

    def before_nack(self, broker: Broker, message: MessageProxy) -> None:
        """A message is rejected; noted before its queue looks empty to who joins it."""
        raised: BaseException | None = message._exception  # pyright: ignore[reportPrivateUsage]  # as StubBroker does
        self.messages.append(message)
        kind, arguments = (Exception, ("unknown",)) if raised is None else (type(raised), raised.args)
        self.raised.setdefault(message.queue_name, []).append((kind, arguments))


class JoiningBroker(BandedRedisBroker):
    """The broker under test, in the place of a `StubBroker`."""

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._dead = DeadLetters()
        self.add_middleware(self._dead)

    @property
    def dead_letters(self) -> list[MessageProxy]:
        """Every message that was rejected."""
        return self._dead.messages

    def join(self, queue_name: str, *, interval: int = 20, timeout: int | None = None, fail_fast: bool = True) -> None:
        """Wait until a queue is empty, and raise what the first rejected message raised."""
        if queue_name not in self.queues:
            raise QueueNotFound(queue_name)
        super().join(queue_name, interval=interval, timeout=timeout)
        for kind, arguments in self._dead.raised.get(queue_name, []) if fail_fast else ():
            raise kind(*arguments)
