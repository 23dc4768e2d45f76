"""``python -m bandmaster.admin``: the process that serves the admin API; any number may run.

In the flow: nothing waits for it. It exits with 0 at SIGTERM or SIGINT, and with 1 if the settings are wrong, nobody
could call it, the address is taken or an extra is missing.
"""

import signal
import sys
from typing import Final

from ..configs.errors import ExtraMissing, SettingsError
from ..configs.extras import import_extra
from ..configs.logging import configure_logging
from ..configs.settings import load_settings
from ..scheduler.model.errors import BandmasterError

ENDS: Final = frozenset({signal.SIGTERM, signal.SIGINT})


def main() -> int:
    """Serve until a signal ends the process; return the exit code."""
    # From the first moment on: one that comes while packages are imported is heeded afterwards.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        process = import_extra("bandmaster.admin.process", "api")
        settings = load_settings()
        configure_logging(settings.logging)
        process.serve(settings, ENDS)
        return 0
    except (ExtraMissing, SettingsError, BandmasterError, OSError) as error:
        sys.stderr.write(f"bandmaster: api: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
