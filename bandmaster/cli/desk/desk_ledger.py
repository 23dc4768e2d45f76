"""``DeskLedger``: the ledger of a command beside Redis, opened at its first use and once, and closed with the desk.

In the flow: `queue_figures.py` and `queue_waits.py` ask it. What reads a ledger takes long to import, so it is only
where there is something to read.
"""

from typing import Any

from bandmaster.configs.errors import ExtraMissing, SettingsError
from bandmaster.configs.extras import import_extra
from bandmaster.configs.settings import Settings


class DeskLedger:
    """The ledger that the settings name, if there is one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._asking: Any = None

    def asking(self) -> Any:
        """Return its `Asking`; None if there is no ledger, or what reads it is not installed."""
        settings = self._settings
        if self._asking is not None:
            return self._asking
        try:
            # The folder of its file may be none, which other commands do not need.
            if settings.ledger.url or settings.paths.ledger_file.exists():
                opening = import_extra("bandmaster.ledger.opening", "ledger")
                asking_of = import_extra("bandmaster.ledger.queries.asking", "ledger").Asking
                self._asking = asking_of(opening.database_of(settings), queue=settings.redis.prefix)
        except (ExtraMissing, SettingsError):
            return None
        return self._asking

    def close(self) -> None:
        """Close its connections."""
        if self._asking is not None:
            self._asking.database.close()
