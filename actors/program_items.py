"""``ProgramItems``: the file in which a program finds the items that it works on, the token for them, and the API.

In the flow: the saga makes its text for each attempt, and the backend lets the program find it. The items are those of
the event; the token is made here and kept nowhere else, so an attempt that is made twice has the same, and Redis, the
journal and the ledger have none. Without a key, or with one that cannot be read, the program gets its items all the
same, and how it ends says what becomes of them.
"""

import json
from collections.abc import Callable

from ..configs.api import URL_FILE
from ..configs.errors import SettingsError
from ..configs.logger import Logger
from ..configs.settings import Settings
from ..scheduler.events import ExecutionRequestedEvent
from ..scheduler.model.item_tokens import item_token

log = Logger(__name__)


class ProgramItems:
    """What the programs of one worker get. Safe to share between threads."""

    def __init__(self, keys: Callable[[], tuple[bytes, ...]], api_url: Callable[[], str | None]) -> None:
        """Reads nothing.

        Args:
            keys: Of which tokens are made, by the first one; none: there are no tokens.
            api_url: Where programs find the API; None: nobody knows.
        """
        self._keys = keys
        self._api_url = api_url

    @classmethod
    def of(cls, settings: Settings) -> "ProgramItems":
        """What the settings of one shard say; they are looked up again for each program."""
        return cls(lambda: settings.item_keys, lambda: _url_of(settings))

    def file_of(self, event: ExecutionRequestedEvent) -> str | None:
        """Return the text of the file, JSON in ASCII; None: the execution was not started for items."""
        if event.items is None:
            return None
        try:
            keys = self._keys()
        except SettingsError as error:
            log.warning("item_token_not_made", execution_id=event.execution_id, error=str(error))
            keys = ()
        told = {
            "execution_id": event.execution_id,
            "api_url": self._api_url(),
            "token": item_token(keys[0], event.execution_id) if keys else None,
        }
        # The items are JSON already, and an execution may have many.
        return f'{json.dumps(told)[:-1]}, "items": {event.items}}}'


def _url_of(settings: Settings) -> str | None:
    configured = settings.items.api_url or settings.api.url
    if configured is not None or settings.k8s.backend != "local":
        return configured
    try:
        return (settings.paths.absolute / URL_FILE).read_text(encoding="ascii").strip() or None
    except (OSError, ValueError):
        return None
