"""Describes the machine of the measurement, since figures mean nothing without it."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    """Processor, Python, server, libraries."""

    processor: str
    cores: int
    system: str
    python: str
    server: str
    dramatiq: str
    redis_py: str

    def __str__(self) -> str:
        return (
            f"{self.processor}, {self.cores} cores, {self.system}; Python {self.python}; {self.server}; "
            f"Dramatiq {self.dramatiq}, redis-py {self.redis_py}"
        )


def this_machine(server: str) -> Machine:
    """Describe this machine, with the server's description from `server.described`."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        server=server,
        dramatiq=version("dramatiq"),
        redis_py=version("redis"),
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()
