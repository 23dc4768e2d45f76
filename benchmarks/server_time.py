"""Measures the cost of commands on the server: calls and microseconds from INFO commandstats.

In the flow: questions about the server's side run one script at a time between two readings, so the figure of `fcall`,
or of the simple script's `evalsha`, belongs to that script. The result is the difference of the readings, so the
server's statistics need no reset.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import redis

FCALL: Final = "fcall"
EVALSHA: Final = "evalsha"
"""The command by which the simple queue calls its script."""


@dataclass(slots=True)
class ServerTime:
    """The server's time; filled when the measured block ends."""

    calls: dict[str, int] = field(default_factory=dict[str, int])
    usec: dict[str, float] = field(default_factory=dict[str, float])

    def per_call(self, *commands: str) -> float:
        """Microseconds per call of the first of these commands, including the time of the others."""
        return sum(self.usec.get(command, 0.0) for command in commands) / max(1, self.calls.get(commands[0], 0))


@contextmanager
def server_time(client: "redis.Redis") -> Generator[ServerTime]:
    """Measure the server's time during the block."""
    before, measured = _statistics(client), ServerTime()
    yield measured
    for command, (calls, usec) in _statistics(client).items():
        calls_before, usec_before = before.get(command, (0, 0.0))
        if calls > calls_before:
            measured.calls[command] = calls - calls_before
            measured.usec[command] = usec - usec_before


def script_usec(client: "redis.Redis", call: Callable[[], object], calls: int) -> float:
    """Call a script so many times, and return its microseconds per call; nothing else may call scripts meanwhile."""
    with server_time(client) as spent:
        for _ in range(calls):
            call()
    return spent.per_call(FCALL)


def _statistics(client: Any) -> dict[str, tuple[int, float]]:
    raw: dict[str, dict[str, float]] = client.info("commandstats")
    return {
        name.removeprefix("cmdstat_").lower(): (int(values["calls"]), float(values["usec"]))
        for name, values in raw.items()
    }
