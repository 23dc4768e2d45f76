"""``python -m bandmaster.ledger``: the process that writes the journal into SQL; any number may run, and one consumes.

In the flow: it reads the journal and nothing waits for it. It exits with 0 at SIGTERM or SIGINT, after the page that is
being written, and with 1 if the settings are wrong, Redis does not answer at the start, an extra is missing or the
tables are of another release. On SQLite it brings the tables to this release's schema by itself.
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
    """Consume until a signal ends the process; return the exit code."""
    # From the first moment on: one that comes while packages are imported is not to kill it, but is heeded afterwards.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        process = import_extra("bandmaster.ledger.process", "ledger")
        settings = load_settings()
        configure_logging(settings.logging)
        process.consume(settings, ENDS)
        return 0
    except (ExtraMissing, SettingsError, BandmasterError, OSError) as error:
        sys.stderr.write(f"bandmaster: ledger: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
