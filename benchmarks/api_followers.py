"""Measures what 200 followers of the API's events cost: how much of a core its process uses, and how late events come.

A hundred transitions a second happen meanwhile. The followers are sockets of this process, which only reads them.
"""

import selectors
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from statistics import median

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.queue import ExecutionQueueService

from .api_calls import API, Calls, served, used_seconds
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

TRANSITIONS_A_SECOND = 100
_OF_ONE = 2  # it is accepted, and cancelled


class Followers:
    """Connections that follow, read by one thread."""

    def __init__(self, calls: Calls, count: int) -> None:
        self.late_seconds: list[float] = []
        """How late each event was, at the first of them."""
        self._selector = selectors.DefaultSelector()
        head = f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: {calls.authorization}\r\n\r\n"
        for number in range(count):
            connection = socket.create_connection(("127.0.0.1", calls.port), timeout=60)
            connection.sendall(head.encode())
            if not connection.recv(65_536).startswith(b"HTTP/1.1 200"):
                raise RuntimeError("the API refuses a follower")
            self._selector.register(connection, selectors.EVENT_READ, number)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ends.is_set():
            for key, _ in self._selector.select(0.1):
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                got = connection.recv(1_048_576)
                if key.data == 0:
                    now = time.time()
                    for line in got.splitlines():
                        if line.startswith(b"id: "):
                            entry_ms = int(line.split(b".")[1].partition(b"-")[0])
                            self.late_seconds.append(now - entry_ms / 1000)

    def close(self) -> None:
        """Hang up."""
        self._ends.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            connection.close()


@contextmanager
def _following(calls: Calls, count: int) -> Generator[Followers]:
    followers = Followers(calls, count)
    try:
        yield followers
    finally:
        followers.close()


def measure(rig: Rig, side: str) -> Measured:
    """Let things happen at a steady rate while all follow."""
    ledger = rig.folder / "api_followers.sqlite3"
    database = Database(f"sqlite:///{ledger}")
    upgrade(database)
    database.close()
    queue = ExecutionQueueService(rig.client)
    seconds = rig.sized(1, 3, 15)
    with served(rig, f"sqlite:///{ledger}") as calls, _following(calls, rig.sized(5, 50, 200)) as followers:
        used_before, began = used_seconds(API), time.monotonic()
        for number in range(seconds * TRANSITIONS_A_SECOND // _OF_ONE):
            queue.enqueue({"execution_id": f"e-{number}", "command": ["true"]})
            queue.cancel(f"e-{number}")
            # The rate is what is asked about: each pair has its time.
            time.sleep(max(0.0, began + (number + 1) * _OF_ONE / TRANSITIONS_A_SECOND - time.monotonic()))
        used = (used_seconds(API) - used_before) / (time.monotonic() - began)
        expected = seconds * TRANSITIONS_A_SECOND // _OF_ONE * _OF_ONE
        rig.wait_until(lambda: len(followers.late_seconds) >= expected, "all events")
    return {"CPU": used * 100, "p50": median(followers.late_seconds) * 1000}


QUESTION = Question(
    name="api_followers",
    asks="What do 200 followers of events cost, at 100 transitions a second, and how late are they told?",
    sides=(BANDMASTER,),
    figures=(Figure("CPU", "%"), Figure("p50", "ms")),
    measure=measure,
    targets=(Target(BANDMASTER, "CPU", at_most=20),),
)
