"""``python -m bandmaster.ledger``: the process that writes the journal into SQL; any number may run, and one consumes.

In the flow: it reads the journal and nothing waits for it; besides, it fires the triggers of items. It exits with 0 at
SIGTERM or SIGINT, after the page that is being written, and with 1 if the settings are wrong, Redis does not answer at
the start, an extra is missing or the tables are of another release. On SQLite it brings the tables to this release's
schema by itself.
"""

import signal
import sys

from ..configs.extras import import_extra
from ..configs.settings import Settings
from ..scheduler.process.running import run


def _consume(settings: Settings, ends: frozenset[signal.Signals]) -> None:
    # Imported when the signals are blocked, and named in one line if the extra is missing.
    triggers = import_extra("bandmaster.items.trigger_rounds", "ledger").TRIGGERS
    import_extra("bandmaster.ledger.process", "ledger").consume(settings, ends, triggers)


def main() -> int:
    """Consume until a signal ends the process; return the exit code."""
    return run("ledger", _consume)


if __name__ == "__main__":
    sys.exit(main())
