"""``at_ledger``: the desk of a command about items, beside the ledger's database.

In the flow: ``item_opening.py`` imports it where no address of an API is given: it needs the extras of the ledger and
the API, and they take a while to import.
"""

from collections.abc import Generator
from contextlib import closing, contextmanager

from bandmaster.cli.desk.item_port import ItemDesk
from bandmaster.cli.desk.ledger_items import LedgerItems, LedgerQueues
from bandmaster.cli.desk.ledger_triggers import LedgerNotifications, LedgerTriggers
from bandmaster.configs.settings import Settings
from bandmaster.items.opened import open_items
from bandmaster.ledger.opening import existing
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.readying import open_ledger


@contextmanager
def at_ledger(settings: Settings, *, upgrades: bool) -> Generator[ItemDesk]:
    """Open the desk until the command has ended.

    Args:
        settings: Of one server.
        upgrades: Make the database if it is missing, and its tables.

    Raises:
        LedgerMissing: If there is no database.
        LedgerError: If it does not answer.
    """
    with closing(open_ledger(settings) if upgrades else existing(settings)) as database:
        asking = Asking(database, queue=settings.redis.prefix)
        items = open_items(asking, notify=settings.notify)
        yield ItemDesk(LedgerQueues(items), LedgerItems(items), LedgerTriggers(items), LedgerNotifications(items))
