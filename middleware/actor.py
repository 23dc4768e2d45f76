"""``actor``: Dramatiq's decorator with our options as types; and ``Actor``, which can also be sent from asyncio.

In the flow: a declared actor goes to the broker like any actor of Dramatiq's. An actor that was declared with
``dramatiq.actor`` becomes an ``Actor`` when our middleware sees its declaration, so that both can be sent from asyncio.
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

    if TYPE_CHECKING:  # Dramatiq's own methods, which take any option

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
                QueueRejected: If the actor is gated: InvalidRequest, QueueFull, UserLimitExceeded, DuplicateExecution
                    or NotUnique; nothing was kept.
                QueueUnavailable: If Redis did not answer.
            """
            ...

    async def asend(self, *args: P.args, **kwargs: P.kwargs) -> Message[R]:
        """`send`, without blocking the event loop. Calls that are not awaited one after the other may send in any
        order. A task that is cancelled during the call may have sent.
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
        """`send_with_options`, without blocking the event loop."""
        return await off_loop(lambda: self.send_with_options(args=args, kwargs=kwargs, delay=delay, **options))


def let_await(declared: "dramatiq.Actor[..., Any]") -> None:
    """Turn an actor declared with ``dramatiq.actor`` into an ``Actor``; an actor of another class is left as it is."""
    if type(declared) is dramatiq.Actor:
        declared.__class__ = Actor


class ActorDecorator(Protocol):
    """The decorator that `actor` returns when it is called with options."""

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
