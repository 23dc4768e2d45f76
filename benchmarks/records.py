"""What each job leaves: its number, when it was sent, when its body began and ended, on the machine's monotonic clock.

In the flow: workers append a record to their own file with one small write, which costs microseconds where a call to
the server would cost what is measured; the rig reads the files. The clock is the same for all processes of a machine.
"""

import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SERVER_VARIABLE: Final = "BANDMASTER_BENCH_REDIS_URL"
"""The server to measure on; workers get it from the rig."""
FOLDER_VARIABLE: Final = "BANDMASTER_BENCH_FOLDER"
"""Where workers put their records."""

_LAYOUT: Final = struct.Struct("<qqqq")


@dataclass(frozen=True, slots=True)
class Record:
    """One job that ran; times in nanoseconds."""

    number: int
    sent_ns: int
    started_ns: int
    ended_ns: int


class Recorder:
    """Writes this process's records; the file is opened when the first is written, after any fork."""

    def __init__(self) -> None:
        self._file: int | None = None

    def write(self, number: int, sent_ns: int, started_ns: int) -> None:
        """Record a job whose body ends now."""
        if self._file is None:
            path = Path(os.environ[FOLDER_VARIABLE]) / f"{os.getpid()}.records"
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(self._file, _LAYOUT.pack(number, sent_ns, started_ns, time.monotonic_ns()))


def count_records(folder: Path) -> int:
    """How many jobs have ended."""
    return sum(path.stat().st_size for path in folder.glob("*.records")) // _LAYOUT.size


def read_records(folder: Path) -> list[Record]:
    """All records, by when the bodies began."""
    records = [
        Record(*fields) for path in folder.glob("*.records") for fields in _LAYOUT.iter_unpack(path.read_bytes())
    ]
    return sorted(records, key=lambda record: record.started_ns)


def worker_pids(folder: Path) -> list[int]:
    """The processes that ran jobs."""
    return sorted(int(path.stem) for path in folder.glob("*.records"))
