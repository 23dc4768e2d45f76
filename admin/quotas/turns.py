"""``Turns``: how many of each caller's attempts are under way at once; the others wait for a while.

In the flow: a share of a quota is taken before an attempt, and given back if that is none that counts. Without turns,
as many attempts at once as the quota has shares would have the next one refused, though none of them counts. They are
counted in this process alone, so nothing has to be cleared away if it dies. To be used from one event loop.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class _Line:
    """The turns of one caller."""

    turns: asyncio.Semaphore
    stand: int = 0
    """How many have one, or wait."""


class Turns:
    """The turns of all callers."""

    def __init__(self, at_once: int, *, patience_seconds: float, refusal: Callable[[], Exception]) -> None:
        """Args:
        at_once: How many attempts of one caller are under way.
        patience_seconds: One that has waited longer is not made.
        refusal: What is raised for it.
        """
        self._at_once = at_once
        self._patience_seconds = patience_seconds
        self._refusal = refusal
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def turn(self, whose: str) -> AsyncGenerator[None]:
        """Wait for a turn, and have it until the end of the block.

        Raises:
            Exception: The refusal, if it does not come.
        """
        line = self._lines.setdefault(whose, _Line(asyncio.Semaphore(self._at_once)))
        line.stand += 1
        try:
            try:
                await asyncio.wait_for(line.turns.acquire(), self._patience_seconds)
            except TimeoutError:
                raise self._refusal() from None
            try:
                yield
            finally:
                line.turns.release()
        finally:
            line.stand -= 1
            if not line.stand:
                del self._lines[whose]
