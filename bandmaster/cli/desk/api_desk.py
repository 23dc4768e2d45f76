"""``at_api`` and ``items_at_api``: the desks of a command at the API.

In the flow: ``opening.py`` and ``item_opening.py`` import it once an address is given: the API's answers cost a tenth
of a command's start.
"""

from collections.abc import Generator
from contextlib import contextmanager

from bandmaster.admin.client.blocking import Client
from bandmaster.cli.address import Address
from bandmaster.cli.desk.api_controls import ApiControls
from bandmaster.cli.desk.api_executions import ApiExecutions
from bandmaster.cli.desk.api_figures import ApiFigures
from bandmaster.cli.desk.api_items import ApiItems, ApiQueues
from bandmaster.cli.desk.api_letters import ApiLetters
from bandmaster.cli.desk.api_output import ApiOutput
from bandmaster.cli.desk.api_schedules import ApiSchedules
from bandmaster.cli.desk.api_triggers import ApiNotifications, ApiTriggers
from bandmaster.cli.desk.item_port import ItemDesk
from bandmaster.cli.desk.port import Desk


@contextmanager
def at_api(address: Address) -> Generator[Desk]:
    """Open the desk until the command has ended.

    Args:
        address: Where the API is, and the token.
    """
    with Client(address.url, address.token, timeout_seconds=address.timeout_seconds) as client:
        executions = ApiExecutions(client)
        yield Desk(
            executions,
            ApiFigures(client, address.url),
            ApiControls(client),
            ApiLetters(client, executions),
            ApiOutput(client),
            ApiSchedules(client),
        )


@contextmanager
def items_at_api(address: Address) -> Generator[ItemDesk]:
    """Open the desk of a command about items until it has ended.

    Args:
        address: Where the API is, and the token.
    """
    with Client(address.url, address.token, timeout_seconds=address.timeout_seconds) as client:
        yield ItemDesk(ApiQueues(client), ApiItems(client), ApiTriggers(client), ApiNotifications(client))
