"""``Once``: joins those who ask for the same at once, so that it is done once for all of them.

In the flow: whoever knocks with many requests under one token is one stranger, of whom one share of a quota is taken.
To be used from one event loop. A caller that goes away does not end it for the others.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Once:
    """What is asked for now, by its key."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, asyncio.Task[Any]] = {}

    async def run(self, key: Hashable, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Ask, or wait for who has asked for the same; the answer, or what it raised, is for all."""
        asking = self._under_way.get(key)
        if asking is None:
            asking = self._under_way[key] = asyncio.create_task(ask())
            asking.add_done_callback(lambda done: self._end(key, done))
        return await asyncio.shield(asking)

    def _end(self, key: Hashable, done: "asyncio.Task[Any]") -> None:
        del self._under_way[key]
        if not done.cancelled():
            done.exception()  # whoever asked may have gone away
