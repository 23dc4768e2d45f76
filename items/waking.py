"""``Waking``: tells who waits for an item of a queue that one has come, in all API processes.

In the flow: whoever adds an item publishes its queue's id through Redis, and each process wakes one of those that wait
for it; those look into the database, which alone decides. A message that is lost costs a second: who waits looks each
second. Without Redis, only the waiting of the same process are woken at once. Nothing is kept.
"""

import asyncio
import threading
from collections import defaultdict, deque
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import Final

import redis
from redis.exceptions import RedisError

from ..configs.logger import Logger
from .hearing import LOOK_SECONDS, hear

_log = Logger(__name__)
MOST_UNTOLD: Final = 1_000


class Waking:
    """Those of one process that wait. `told` and `close` may be called from any thread, `wait` from one event loop."""

    def __init__(self, client: redis.Redis | None, channel: str) -> None:
        """Makes no connection.

        Args:
            client: Of the queue's server; None: there is none.
            channel: The name under which it is told.
        """
        self._client = client
        self._channel = channel
        self._waiting: defaultdict[int, deque[asyncio.Future[None]]] = defaultdict(deque)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listening: threading.Thread | None = None
        self._is_closed = threading.Event()
        self._lock = threading.Lock()
        self._telling: threading.Thread | None = None
        self._untold: Queue[int] = Queue(MOST_UNTOLD)

    def tell(self, queue_id: int) -> None:
        """Tell all processes that an item has come, and wait for none. It does not fail: who waits looks by itself."""
        self._wake_soon(queue_id)
        if self._client is None:
            return
        with self._lock:
            if self._telling is None or not self._telling.is_alive():
                self._telling = threading.Thread(target=self._tell_all, name="items-telling", daemon=True)
                self._telling.start()
        # Of more than this, Redis does not answer.
        with suppress(Full):
            self._untold.put_nowait(queue_id)

    async def wait(self, queue_id: int, seconds: float) -> None:
        """Wait until an item may have come, or the time is over."""
        self._listen()
        waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[queue_id].append(waits)
        try:
            async with asyncio.timeout(min(seconds, LOOK_SECONDS)):
                await waits
        except TimeoutError:
            pass
        finally:
            with suppress(ValueError, KeyError):
                self._waiting[queue_id].remove(waits)
            if not self._waiting.get(queue_id):
                self._waiting.pop(queue_id, None)

    def close(self) -> None:
        """Stop listening and telling; its threads end within `LOOK_SECONDS`."""
        self._is_closed.set()

    def _listen(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._client is None or (self._listening is not None and self._listening.is_alive()):
            return
        given = (self._client, self._channel, self._is_closed, self._wake_soon)
        self._listening = threading.Thread(target=hear, args=given, name="items-waking", daemon=True)
        self._listening.start()

    def _tell_all(self) -> None:
        assert self._client is not None
        while not self._is_closed.is_set():
            try:
                self._client.publish(self._channel, self._untold.get(timeout=LOOK_SECONDS))
            except Empty:
                continue
            except RedisError as error:
                _log.debug("items_not_told", problem=str(error))

    def _wake_soon(self, queue_id: int) -> None:
        loop = self._loop
        if loop is not None:
            # It may be closed by now: then nobody waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._wake, queue_id)

    def _wake(self, queue_id: int) -> None:
        waiting = self._waiting.get(queue_id)
        while waiting:
            first = waiting.popleft()
            if not first.done():
                first.set_result(None)
                return
