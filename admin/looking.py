"""``Look``: one look at something for all who ask while it is under way.

In the flow: probes ask, and they need no token and have no quota. If what is looked at hangs, it holds one thread,
however many ask.
"""

import asyncio
from collections.abc import Callable

from fastapi.concurrency import run_in_threadpool


class Look:
    """To be used from one event loop."""

    def __init__(self) -> None:
        """Nobody looks yet."""
        self._looking: asyncio.Task[tuple[bool, ...]] | None = None

    async def at(self, *asks: Callable[[], bool]) -> tuple[bool, ...]:
        """Return what some questions are answered with, asked in one thread; it is always the same questions."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(run_in_threadpool(lambda: tuple(ask() for ask in asks)))
        # The first that goes away does not end it for the others.
        return await asyncio.shield(self._looking)
