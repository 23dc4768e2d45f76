"""Writes a worker's health file for the probes: whether its threads make progress, and whether the server answers.

In the flow: a thread of each worker process checks this every few seconds, from boot until the drain is over. If a
consumer or the heartbeat hangs, or the whole process does, the pulse stops, and the liveness probe has the process
restarted; its executions come back within a lease. A long body does not stop the pulse: it has limits of its own.
Whether the server answers counts for readiness only: a restart does not help against a server that is away.
"""

import threading
from pathlib import Path
from typing import Final

import redis
from dramatiq import Broker, Worker
from dramatiq.middleware import Middleware

from ...configs.logger import Logger
from ...scheduler.process.health_file import HealthFile
from .worker_process import LaneProcess

log = Logger(__name__)
EVERY_SECONDS: Final = 5.0
JOIN_SECONDS: Final = 5.0
STUCK_SECONDS: Final = 30.0
"""Longer than a thread takes to give up on a server that does not answer, retries included, and to start again."""


class WorkerPulse(Middleware):
    """Keeps the pulse of this process."""

    def __init__(
        self,
        process: LaneProcess,
        client: redis.Redis,
        folder: Path | None,
        *,
        every_seconds: float = EVERY_SECONDS,
        stuck_seconds: float = STUCK_SECONDS,
    ) -> None:
        """Prepare the pulse; nothing is started or written before the worker boots.

        Args:
            process: The worker process, which knows its threads.
            client: A client without retries, with a socket timeout well below the age at which a probe fails.
            folder: The folder of the health file; None: no pulse is kept.
            every_seconds: The length of a round.
            stuck_seconds: A thread that has not begun a round for so long stops the pulse.
        """
        self._process = process
        self._client = client
        self._folder = folder
        self._every_seconds = every_seconds
        self._stuck_seconds = stuck_seconds
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Start the pulse, in the worker process and not in the one that forked it."""
        if self._folder is not None:
            self._stopped.clear()
            self._thread = threading.Thread(target=self._run, name="bandmaster-pulse", daemon=True)
            self._thread.start()

    def after_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Stop the pulse after the drain, without waiting long for a ping that hangs."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
        try:
            pulse = HealthFile(self._folder)
            while True:
                stuck = self._process.stuck(self._stuck_seconds)
                if stuck:
                    log.error("threads_stuck", threads=stuck)
                else:
                    pulse.beat(answered=self._answered())
                if self._stopped.wait(self._every_seconds):
                    return
        except OSError as error:
            # Without a pulse the probe fails, as it should.
            log.error("pulse_failed", error=str(error))
        finally:
            self._client.close()

    def _answered(self) -> bool:
        try:
            return bool(self._client.ping())
        except redis.RedisError:
            return False
