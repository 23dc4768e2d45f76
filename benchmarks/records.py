"""Records of the jobs: number and times of send, start and end, on the machine's monotonic clock.

In the flow: workers append a record to their own file with one small write. That costs microseconds, while a call to
the server would distort the measurement. The rig reads the files. All processes of a machine share the clock.
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
"""The folder that workers write their records to."""

_LAYOUT: Final = struct.Struct("<qqqq")


@dataclass(frozen=True, slots=True)
class Record:
    """One job that ran; times in nanoseconds."""

    number: int
    sent_ns: int
    started_ns: int
    ended_ns: int


class Recorder:
    """Writes this process's records; opens the file at the first record, after any fork."""

    def __init__(self) -> None:
        self._file: int | None = None

    def write(self, number: int, sent_ns: int, started_ns: int) -> None:
        """Record a job whose body ends now."""
        if self._file is None:
            path = Path(os.environ[FOLDER_VARIABLE]) / f"{os.getpid()}.records"
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(self._file, _LAYOUT.pack(number, sent_ns, started_ns, time.monotonic_ns()))


def count_records(folder: Path) -> int:
    """The number of ended jobs."""
    return sum(path.stat().st_size for path in folder.glob("*.records")) // _LAYOUT.size


def read_records(folder: Path) -> list[Record]:
    """All records, in the order in which the bodies started."""
    records = [
        Record(*fields) for path in folder.glob("*.records") for fields in _LAYOUT.iter_unpack(path.read_bytes())
    ]
    return sorted(records, key=lambda record: record.started_ns)


def worker_pids(folder: Path) -> list[int]:
    """The processes that ran jobs."""
    return sorted(int(path.stem) for path in folder.glob("*.records"))
