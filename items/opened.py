"""``Items``: all that can be done with queues and items of one ledger, opened once for a process."""

from dataclasses import dataclass
from typing import Final

import redis

from ..configs.notify import NotifySettings
from ..ledger.queries.asking import Asking
from .adding import Adding
from .editing import Editing
from .joining import Claiming
from .listing import Listing
from .notifying.testing import Testing
from .outcome import Outcome
from .queues import Queues
from .store import Store
from .triggers import Triggers
from .uploading import Uploading
from .waking import Waking

NO_NOTIFICATIONS: Final = NotifySettings()


@dataclass(frozen=True, slots=True)
class Items:
    """Safe to share between threads."""

    store: Store
    queues: Queues
    adding: Adding
    uploading: Uploading
    claiming: Claiming
    outcome: Outcome
    editing: Editing
    listing: Listing
    triggers: Triggers
    testing: Testing
    waking: Waking


def open_items(
    asking: Asking,
    *,
    client: redis.Redis | None = None,
    channel: str = "items",
    notify: NotifySettings = NO_NOTIFICATIONS,
) -> Items:
    """Open them; no connection is made.

    Args:
        asking: The ledger.
        client: Of the Redis by which API processes tell each other that an item has come; None: there is none.
        channel: The name under which they do.
        notify: The settings of notifications, by which addresses are judged.
    """
    store = Store(asking)
    return Items(
        store=store,
        queues=Queues(store, notify),
        adding=Adding(store),
        uploading=Uploading(store),
        claiming=Claiming(store),
        outcome=Outcome(store),
        editing=Editing(store),
        listing=Listing(store),
        triggers=Triggers(store, notify),
        testing=Testing(store),
        waking=Waking(client, channel),
    )
