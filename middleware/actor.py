"""``actor``: Dramatiq's, with our options as types; and ``Actor``, which can also be sent from asyncio.

In the flow: what is declared goes to the broker as any actor of Dramatiq's does. One that was declared with
``dramatiq.actor`` becomes an ``Actor`` where our middleware meets it, so that both may be awaited.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, Unpack, cast, overload

import dramatiq
from dramatiq import Broker, Message

from .off_loop import off_loop
from .options import ActorOptions, MessageOptions

P = ParamSpec("P")
R = TypeVar("R")


class Actor(dramatiq.Actor[P, R]):
    """An actor whose options are typed, and that can be sent from asyncio."""

    if TYPE_CHECKING:  # Dramatiq's own, which take any option

        def message_with_options(  # pyright: ignore[reportIncompatibleMethodOverride]
            self,
            *,
            args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
            **options: Unpack[MessageOptions],
        ) -> Message[R]:
            """As in Dramatiq."""
            ...

        def send_with_options(  # pyright: ignore[reportIncompatibleMethodOverride]
            self,
            *,
            args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
            delay: timedelta | int | None = None,
            **options: Unpack[MessageOptions],
        ) -> Message[R]:
            """As in Dramatiq.

            Raises:
                QueueRejected: If the actor is gated: InvalidRequest, QueueFull, UserLimitExceeded or
                    DuplicateExecution; nothing was kept.
                QueueUnavailable: If Redis did not answer.
            """
            ...

    async def asend(self, *args: P.args, **kwargs: P.kwargs) -> Message[R]:
        """`send`, while the event loop goes on. Of calls that are not awaited one after the other, any may come first.
        A task that is cancelled meanwhile may have sent.
        """
        return await off_loop(lambda: self.send(*args, **kwargs))

    async def asend_with_options(
        self,
        *,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        delay: timedelta | int | None = None,
        **options: Unpack[MessageOptions],
    ) -> Message[R]:
        """`send_with_options`, while the event loop goes on."""
        return await off_loop(lambda: self.send_with_options(args=args, kwargs=kwargs, delay=delay, **options))


def let_await(declared: "dramatiq.Actor[..., Any]") -> None:
    """Have an actor that was declared with ``dramatiq.actor`` awaited like one of ours; one of another class stays."""
    if type(declared) is dramatiq.Actor:
        declared.__class__ = Actor


class ActorDecorator(Protocol):
    """What `actor` with options answers."""

    @overload
    def __call__(self, fn: Callable[P, Awaitable[R]], /) -> Actor[P, R]: ...

    @overload
    def __call__(self, fn: Callable[P, R], /) -> Actor[P, R]: ...


@overload
def actor(fn: Callable[P, Awaitable[R]], /) -> Actor[P, R]: ...


@overload
def actor(fn: Callable[P, R], /) -> Actor[P, R]: ...


@overload
def actor(
    *,
    queue_name: str = "default",
    priority: int = 0,
    actor_name: str | None = None,
    broker: Broker | None = None,
    **options: Unpack[ActorOptions],
) -> ActorDecorator: ...


def actor(fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Declare an actor, as ``dramatiq.actor`` does, with options that pyright and mypy know.

    Raises:
        InvalidRequest: If an option of ours is not allowed.
        ValueError: If an option is unknown to the broker, or the actor's name is taken.
    """
    declare = cast("Callable[..., Any]", dramatiq.actor(actor_class=Actor, **options))
    return declare if fn is None else declare(fn)
