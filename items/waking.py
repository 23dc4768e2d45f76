"""``Waking``: tells who waits for an item of a queue that one has come, in all API processes.

In the flow: whoever adds an item publishes its queue's id through Redis, and each process wakes one of those that stand
in line for it; who is woken looks into the database, which alone decides, and who goes wakes the next, since more may
have come. A message that is lost costs a second: each second one of a line is woken to look, however many wait. Without
Redis, only the waiting of the same process are woken at once. Nothing is kept.
"""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from queue import Empty, Full, Queue
from typing import Final

import redis
from redis.exceptions import RedisError

from ..configs.logger import Logger
from .hearing import LOOK_SECONDS, hear

_log = Logger(__name__)
MOST_UNTOLD: Final = 1_000


class Place:
    """A place in the line of a queue."""

    def __init__(self) -> None:
        self._came = asyncio.Event()

    @property
    def is_woken(self) -> bool:
        """Whether an item may have come since it looked."""
        return self._came.is_set()

    def wake(self) -> None:
        """Have it look."""
        self._came.set()

    def look(self) -> None:
        """Say that it looks now."""
        self._came.clear()

    async def wait(self, seconds: float) -> bool:
        """Wait until an item may have come; whether it may: otherwise the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._came.wait()
        return self.is_woken


class Waking:
    """Those of one process that wait. `tell` and `close` may be called from any thread, `line` from one event loop."""

    def __init__(self, client: redis.Redis | None, channel: str) -> None:
        """Makes no connection.

        Args:
            client: Of the queue's server; None: there is none.
            channel: The name under which it is told.
        """
        self._client = client
        self._channel = channel
        self._lines: dict[int, list[Place]] = {}
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

    @contextmanager
    def line(self, queue_id: int) -> Generator[Place]:
        """Stand in line during the block. Who stands there before it looks misses nothing that comes meanwhile."""
        self._listen()
        place = Place()
        if (line := self._lines.get(queue_id)) is None:
            line = self._lines[queue_id] = []
            self._look_soon(queue_id)
        line.append(place)
        try:
            yield place
        finally:
            line.remove(place)
            if place.is_woken:
                # It goes without having looked.
                self.wake(queue_id)
            if not line:
                del self._lines[queue_id]

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
                loop.call_soon_threadsafe(self.wake, queue_id)

    def wake(self, queue_id: int) -> None:
        """Wake one of a line, the one who was woken longest ago."""
        line = self._lines.get(queue_id, [])
        for place in line:
            if not place.is_woken:
                place.wake()
                line.remove(place)
                line.append(place)
                return

    def _look_soon(self, queue_id: int) -> None:
        asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look, queue_id)

    def _look(self, queue_id: int) -> None:
        if queue_id in self._lines:
            self.wake(queue_id)
            self._look_soon(queue_id)
