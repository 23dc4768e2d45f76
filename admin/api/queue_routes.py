"""``QueueRouter``: routes that ask Redis, of which only so many do at once.

In the flow: a plain function of a route runs in one of a few threads that all routes share. If Redis hangs, each that
asks it keeps its thread until the deadline; so only some of the threads may be kept by such, and a request beyond them
waits here, without one, and is told after a second that so many ask already. What needs no Redis always finds a thread.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool

from ..errors import busy
from ..services import QUEUE_AT_ONCE, Services

TURN_SECONDS: Final = 1.0
P = ParamSpec("P")
T = TypeVar("T")


class QueueRouter(APIRouter):
    """A router of routes that ask Redis; each has a parameter `services`. Those for asyncio take no turn."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        """Add a route."""
        super().add_api_route(path, endpoint if inspect.iscoroutinefunction(endpoint) else _in_turn(endpoint), **given)


def _in_turn(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(endpoint)
    async def answer(*, services: Services, **given: Any) -> Any:
        return await in_turn(services, endpoint, services=services, **given)

    return answer


async def in_turn(its: Services, ask: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Ask Redis in one of the threads that all routes share, when there is a turn.

    Raises:
        Refused: If others have all the turns, and none ends in time.
    """
    async with turn(its.turns, TURN_SECONDS, f"{QUEUE_AT_ONCE} requests ask Redis already"):
        return await run_in_threadpool(ask, *given, **named)


@asynccontextmanager
async def turn(turns: asyncio.Semaphore, seconds: float, taken: str) -> AsyncGenerator[None]:
    """Take a turn until the end of the block.

    Args:
        turns: Of those that there are.
        seconds: For how long one is waited for.
        taken: Who has them, for the refusal.

    Raises:
        Refused: If none ends in time.
    """
    # With a turn that is free, nothing has to be timed.
    if turns.locked():
        try:
            async with asyncio.timeout(seconds):
                await turns.acquire()
        except TimeoutError:
            raise busy(f"{taken}, and none of them ended within {seconds:g} s") from None
    else:
        await turns.acquire()
    try:
        yield
    finally:
        turns.release()
