"""How many round trips do send, and the whole way of a job through a busy worker, take?

Counted by MONITOR, which shows what clients send apart from what scripts do. A job's way is fetch and settle; the body
of these jobs sends nothing. Bandmaster's release brings the next job, so a busy worker needs one for both.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import redis

from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import Rig

END = "PING round-trips-end"
NOT_COUNTED = ("CLIENT", "HELLO", "SCRIPT", "FUNCTION", "SELECT", "PING", "INFO")
"""Once a connection, not once a message."""


class _Monitor:
    """Counts what clients send."""

    def __init__(self, client: "redis.Redis") -> None:
        self._client = client
        self.counted = 0

    def listen(self, commands: Any) -> None:
        """Count until the end's mark comes by."""
        for seen in commands:
            command: str = seen["command"]
            if command == END:
                return
            if seen["client_type"] != "lua" and not command.startswith(NOT_COUNTED):
                self.counted += 1


@contextmanager
def _counted(client: "redis.Redis") -> Generator[_Monitor]:
    monitor = _Monitor(client)
    with client.monitor() as commands:
        thread = threading.Thread(target=monitor.listen, args=(commands.listen(),), daemon=True)
        thread.start()
        yield monitor
        client.execute_command(*END.split())
        thread.join(timeout=60)


def measure(rig: Rig, side: str) -> Measured:
    """Send, then run, and count both."""
    jobs, count = rig.jobs(side), rig.sized(30, 200, 1000)
    jobs.nap.send(-1, 0)
    with _counted(rig.client) as sending:
        for number in range(count):
            jobs.nap.send(number, 0)
    with rig.workers(side):
        rig.wait_for_records(count // 10)
        with _counted(rig.client) as running:
            began = len(rig.records())
            rig.wait_for_records(count - count // 10)
            ended = len(rig.records())
    return {"a send": sending.counted / count, "a job": running.counted / max(1, ended - began)}


QUESTION = Question(
    name="round_trips",
    asks="How many round trips do a send and a job's fetch and settling take?",
    sides=(BARE, BANDMASTER),
    figures=(Figure("a send", "calls"), Figure("a job", "calls")),
    measure=measure,
    targets=(Target(BANDMASTER, "a send", at_most=1.01), Target(BANDMASTER, "a job", at_most=2)),
    runs=1,
)
