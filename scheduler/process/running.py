"""Runs a process that serves until a signal ends it: the ledger's, the API's.

In the flow: their ``__main__``. The signals are blocked from the first line on: one that comes while packages are
imported does not kill the process, but is heeded by what it serves, which was told which they are.
"""

import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

from ...configs.errors import ExtraMissing, SettingsError
from ...configs.logging import configure_logging
from ...configs.settings import Settings, load_settings
from ..model.errors import BandmasterError

ENDS: Final = frozenset({signal.SIGTERM, signal.SIGINT})
Serve = Callable[[Settings, frozenset[signal.Signals]], None]


def run(name: str, serve: Serve) -> int:
    """Serve until a signal ends the process.

    Args:
        name: What the process is called where it says what was wrong.
        serve: Serves, and ends at one of the signals, which are blocked when it is called.

    Returns:
        The exit code: 0 after a signal; 1, and a line on standard error, if something is wrong.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        settings = load_settings()
        configure_logging(settings.logging)
        serve(settings, ENDS)
        return 0
    except (ExtraMissing, SettingsError, BandmasterError, OSError) as error:
        sys.stderr.write(f"bandmaster: {name}: {error}\n")
        return 1


@contextmanager
def ended_by(ends: frozenset[signal.Signals]) -> Generator[None]:
    """Let the blocked signals end the process at once, quietly and with 0, while it waits for what it needs.

    Not to be used where something may be half done. Afterwards the signals are blocked again, and once somebody
    unblocks them they kill.
    """
    for each in ends:
        signal.signal(each, _end)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, ends)
        for each in ends:
            signal.signal(each, signal.SIG_DFL)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)
