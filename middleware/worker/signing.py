"""Signs every two seconds that this worker process lives, and what it does.

In the flow: a thread of its own from boot until the drain is over, beside those that renew leases and ask for
executions: a server that does not answer holds up nothing but the signature. What the threads do is read from this
process's own tables. If the process dies, its signature expires.
"""

import os
import socket
from collections.abc import Callable
from importlib.metadata import version
from typing import Final
from uuid import uuid4

from ...scheduler.engine.engine import Engine
from ...scheduler.workers import MOST_SHOWN, SIGNED_SECONDS, Running, Workers, WorkerSigned
from ..grants.permits import Permits
from ..grants.table import GrantTable
from ..round_thread import RoundThread, done
from .backlog import Backlogs

NAME: Final = "bandmaster-signing"


class Signing:
    """The signature of one worker process."""

    def __init__(
        self,
        engine: Engine,
        held: GrantTable,
        backlogs: Backlogs,
        permits: Permits,
        lanes: Callable[[], tuple[str, ...]],
        is_stopping: Callable[[], bool],
    ) -> None:
        """Prepare it; nothing is signed before `begin`."""
        self._workers = Workers(engine.scripts)
        self._views = engine.views
        self._held = held
        self._backlogs = backlogs
        self._permits = permits
        self._lanes = lanes
        self._is_stopping = is_stopping
        self._worker_id = ""
        self._since_ms = 0
        # Read once: an upgrade under a process that runs does not change what it runs.
        self._release = version("bandmaster")
        self._rounds = RoundThread(NAME, self._sign, pause_seconds=SIGNED_SECONDS)

    def begin(self) -> None:
        """Sign from now on, in the process that works and not in the one that forked it."""
        self._worker_id, self._since_ms = uuid4().hex, 0
        self._rounds.start()

    def end(self) -> None:
        """Sign no more."""
        if self._rounds.thread is not None:
            self._rounds.stop()
            done(lambda: self._workers.leave(self._worker_id), NAME)

    def _sign(self) -> None:
        if not self._since_ms:
            self._since_ms = self._views.server_time_ms()
        running = [entry.grant for entry in self._held.all() if entry.begun and not entry.ended]
        listed = [each for backlog in self._backlogs.all() for each in list(backlog.outstanding.values())]
        busy = len(running) + sum(1 for each in listed if each.thread_id)
        threads = self._permits.total
        self._workers.sign(
            WorkerSigned(
                worker_id=self._worker_id,
                host=socket.gethostname(),
                pid=os.getpid(),
                release=self._release,
                since_ms=self._since_ms,
                threads=threads,
                busy=min(busy, threads),
                lanes=self._lanes(),
                running=tuple(Running(each.execution_id, each.attempt, each.lane) for each in running[:MOST_SHOWN]),
                stopping=self._is_stopping(),
            )
        )
