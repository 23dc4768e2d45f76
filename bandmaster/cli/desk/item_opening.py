"""``at_items``: opens the desk of a command about items, beside the ledger's database or at the API.

In the flow: the first step of such a command, after it has checked its arguments. Beside the database it needs no
Redis. Everything is closed when the command ends.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from bandmaster.cli.address import address_of
from bandmaster.cli.desk.item_port import ItemDesk
from bandmaster.cli.opening import of_one_server, settings_anywhere
from bandmaster.configs.extras import import_extra


@contextmanager
def at_items(*, upgrades: bool = False) -> Generator[ItemDesk]:
    """Open the desk until the command has ended.

    Args:
        upgrades: Beside the database, make that if it is missing.

    Raises:
        SettingsError: If a setting is wrong.
        WrongUsage: If the API's address or the token is none, or there are several servers and none is named.
        ExtraMissing: If what is needed is not installed.
        LedgerMissing: If there is no database.
    """
    settings = settings_anywhere()
    address = address_of(settings)
    if address is None:
        beside: Any = import_extra("bandmaster.cli.desk.ledger_desk", "api")
        with beside.at_ledger(of_one_server(settings), upgrades=upgrades) as desk:
            yield desk
        return
    through: Any = import_extra("bandmaster.cli.desk.api_desk", "client")
    with through.items_at_api(address) as desk:
        yield desk
