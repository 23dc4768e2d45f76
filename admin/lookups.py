"""``Lookups``: threads in which one kind of thing is looked up, and nothing else is done.

In the flow: what is looked up may be elsewhere and hang, in a database, a cluster or Redis; then it holds up those that
ask for the same, and no other part. Tokens that nobody knows yet have threads apart from those that were valid before:
however many strangers come, callers who are known do not wait for them.
"""

import asyncio
import math
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore, Lock
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Lookups:
    """Some threads, and how many may wait for them, and how long."""

    def __init__(
        self, threads: int, *, most: int, refusal: Callable[[], Exception], patience_seconds: float = math.inf
    ) -> None:
        """Args:
        threads: How many look-ups are made at once.
        most: How many there may be, with those that wait.
        refusal: What is raised for one that is not made.
        patience_seconds: One that has waited longer is not made.
        """
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="lookup")
        self._places = BoundedSemaphore(most)
        self._refusal = refusal
        self._patience_seconds = patience_seconds
        self._under_way: dict[Hashable, Future[Any]] = {}
        self._lock = Lock()

    async def run_once(self, key: Hashable, look: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Look something up; who asks for the same meanwhile, by its key, gets the same answer.

        Raises:
            Exception: The refusal, if too many wait.
        """
        with self._lock:
            looking = self._under_way.get(key)
            is_new = looking is None
            if looking is None:
                looking = self._under_way[key] = self._begin(look, *given, **named)
        if is_new:
            looking.add_done_callback(lambda _: self._under_way.pop(key, None))
        # A caller that goes away does not end it for the others.
        return await asyncio.shield(asyncio.wrap_future(looking))

    async def run(self, look: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Look something up.

        Raises:
            Exception: The refusal, if too many wait.
        """
        return await asyncio.wrap_future(self._begin(look, *given, **named))

    def _begin(self, look: Callable[P, T], *given: P.args, **named: P.kwargs) -> "Future[T]":
        if not self._places.acquire(blocking=False):
            raise self._refusal()
        ends = time.monotonic() + self._patience_seconds

        def look_in_time() -> T:
            if time.monotonic() > ends:
                raise self._refusal()
            return look(*given, **named)

        looking = self._threads.submit(look_in_time)
        # With its end, and not with that of the request: a caller that goes away makes no room.
        looking.add_done_callback(self._end)
        return looking

    def _end(self, _: "Future[Any]") -> None:
        self._places.release()
