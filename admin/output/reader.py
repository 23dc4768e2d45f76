"""``Reader``: reads a pod's output in a thread of its own, one piece ahead of who takes them at most.

In the flow: a pod's output is waited for in a thread, since a cluster may be silent for long, and sent from the event
loop. A follower that reads slowly takes no next piece, so nothing is buffered for it. A thread that is not wanted any
more is woken and ends; while a cluster hangs, it ends when its time-out is over, and holds up nobody: it belongs to no
pool, and the end of the process does not wait for it.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator

from ...k8s.output import Closing, Piece

Open = Callable[[Closing], Iterator[Piece]]


class Reader:
    """One reading. To be used from one event loop."""

    def __init__(self, opened: Open, over: Callable[[], None]) -> None:
        """Begin to read.

        Args:
            opened: Opens the output; called in the thread.
            over: Called in the thread when it ends.
        """
        self.has_ended = False
        """Whether the last piece was taken."""
        self._loop = asyncio.get_running_loop()
        self._closing = Closing()
        self._room = threading.Semaphore()
        self._got: asyncio.Queue[Piece | Exception | None] = asyncio.Queue()
        threading.Thread(target=self._read, args=(opened, over), name="output", daemon=True).start()

    async def next(self, seconds: float) -> Piece | None:
        """Take the next piece. None: there is none within this time, or none will come.

        Raises:
            PodError: If the output cannot be read, or not any more.
        """
        try:
            async with asyncio.timeout(seconds):
                got = await self._got.get()
        except TimeoutError:
            return None
        self._room.release()
        if isinstance(got, Exception):
            raise got
        self.has_ended = got is None
        return got

    def close(self) -> None:
        """End the reading."""
        self._closing.close()
        self._room.release()

    def _read(self, opened: Open, over: Callable[[], None]) -> None:
        try:
            for piece in opened(self._closing):
                if not self._hand_over(piece):
                    return
            self._hand_over(None)
        except Exception as error:  # noqa: BLE001  # whatever it is, it ends in who follows
            self._hand_over(error)
        finally:
            over()

    def _hand_over(self, piece: Piece | Exception | None) -> bool:
        self._room.acquire()
        if self._closing.is_closed:
            return False
        try:
            self._loop.call_soon_threadsafe(self._got.put_nowait, piece)
        except RuntimeError:
            return False  # The process ends: its loop is closed.
        return True
