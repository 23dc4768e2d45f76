"""Runs the blocking calls of asyncio callers in threads of their own, so that the event loop goes on.

In the flow: `asend` and `asend_many` come here. Not in the loop's default threads, which also resolve names: a server
that hangs keeps these for a deadline, and nothing else of the application. If the process dies, what was sent waits.
"""

import asyncio
import contextvars
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Final, TypeVar

T = TypeVar("T")
THREADS: Final = 16
"""At most; what is beyond waits for its turn."""


async def off_loop(call: Callable[[], T]) -> T:
    """What a call answers or raises. It sees the context variables of its caller, such as the current grant."""
    in_context = partial(contextvars.copy_context().run, call)
    return await asyncio.get_running_loop().run_in_executor(_threads(), in_context)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="bandmaster-send")


# A fork has none of its parent's threads.
os.register_at_fork(after_in_child=_threads.cache_clear)
