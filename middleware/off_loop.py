"""Runs the blocking calls of asyncio callers in a thread pool, so that the event loop is not blocked.

In the flow: `asend` and `asend_many` use it. The pool is not the event loop's default one, which also resolves host
names: a server that hangs occupies only these threads, until the deadline. If the process dies, parked executions wait.
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
"""The most threads; further calls wait for a free one."""


async def off_loop(call: Callable[[], T]) -> T:
    """Run a call in a thread of the pool, with the caller's context variables, such as the current grant."""
    in_context = partial(contextvars.copy_context().run, call)
    return await asyncio.get_running_loop().run_in_executor(_threads(), in_context)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="bandmaster-send")


# A forked child has none of its parent's threads, so it needs a new pool.
os.register_at_fork(after_in_child=_threads.cache_clear)
