"""A clock of the server's own, which leaps: libfaketime tells it another time than that of the machine.

Only the server has it, as on a machine whose clock is wrong: the processes go by the real one. Where libfaketime is not
installed, the run goes on without the leaps, and says so.
"""

import os
from pathlib import Path
from typing import Final

LEAPS_SECONDS: Final = (-20, 20)
"""What is delayed while it is ahead waits for so long behind the run."""
_LIBRARIES: Final = Path("/usr/lib")
_FILE: Final = "leap"


def library() -> Path | None:
    """The one that is preloaded; None if it is not installed."""
    return next(iter(sorted(_LIBRARIES.glob("*/faketime/libfaketimeMT.so.1"))), None)


def why_not() -> str | None:
    """What is missing; None if the server's clock can leap here."""
    return "there is no libfaketime" if library() is None else None


def environment(folder: Path) -> dict[str, str]:
    """Of a server whose clock can leap; as of others, where none can."""
    preloaded = library()
    if preloaded is None:
        return {**os.environ}
    leap(folder, 0)
    return {
        **os.environ,
        "LD_PRELOAD": os.fspath(preloaded),
        "FAKETIME_TIMESTAMP_FILE": os.fspath(folder / _FILE),
        "FAKETIME_CACHE_DURATION": "1",  # a second later at most it is the new time
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def leap(folder: Path, seconds: int) -> None:
    """Let the clock be so far ahead of the machine's from now on; never half written."""
    written = folder / f"{_FILE}.new"
    written.write_text(f"{seconds:+d}\n")
    written.rename(folder / _FILE)
