"""``Look``: one look at something for all who ask while it is under way, and who wait for it only so long.

In the flow: probes ask, and they need no token and have no quota. If what is looked at hangs, it holds one thread,
however many ask.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from fastapi.concurrency import run_in_threadpool

T = TypeVar("T")


class Look(Generic[T]):
    """To be used from one event loop."""

    def __init__(self) -> None:
        """Nobody looks yet."""
        self._looking: asyncio.Task[T] | None = None

    async def at(self, ask: Callable[[], T], seconds: float) -> T | None:
        """Return what a question is answered with, asked in a thread; it is always the same question.

        Returns:
            The answer; None: there was none within that time.
        """
        looking = self._looking
        if looking is None or looking.done():
            looking = self._looking = asyncio.create_task(run_in_threadpool(ask))
        # The first that goes away, or has waited enough, does not end it for the others.
        done, _ = await asyncio.wait({looking}, timeout=seconds)
        return looking.result() if done else None
