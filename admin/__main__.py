"""``python -m bandmaster.admin``: the process that serves the admin API; any number may run.

In the flow: nothing waits for it. It exits with 0 at SIGTERM or SIGINT, and with 1 if the settings are wrong, nobody
could call it, the address is taken or an extra is missing.
"""

import signal
import sys

from ..configs.extras import import_extra
from ..configs.settings import Settings
from ..scheduler.process.running import run


def _serve(settings: Settings, ends: frozenset[signal.Signals]) -> None:
    # Imported when the signals are blocked, and named in one line if the extra is missing.
    import_extra("bandmaster.admin.process", "api").serve(settings, ends)


def main() -> int:
    """Serve until a signal ends the process; return the exit code."""
    return run("api", _serve)


if __name__ == "__main__":
    sys.exit(main())
