"""``at_desk``: opens the desk of a command, beside Redis or at the API that was typed or set.

In the flow: the first step of every command that works at both, after it has checked its arguments. Everything is
closed when the command ends.
"""

from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Any

from bandmaster.cli.address import address_of
from bandmaster.cli.desk.desk_ledger import DeskLedger
from bandmaster.cli.desk.port import Desk
from bandmaster.cli.desk.queue_controls import QueueControls
from bandmaster.cli.desk.queue_executions import QueueExecutions
from bandmaster.cli.desk.queue_figures import QueueFigures
from bandmaster.cli.desk.queue_letters import QueueLetters
from bandmaster.cli.desk.queue_output import QueueOutput
from bandmaster.cli.desk.queue_schedules import QueueSchedules
from bandmaster.cli.desk.sharded_desk import at_shards
from bandmaster.cli.opening import opened_with, settings_anywhere
from bandmaster.configs.extras import import_extra


@contextmanager
def at_desk() -> Generator[Desk]:
    """Open the desk until the command has ended.

    Raises:
        SettingsError: If a setting is wrong.
        WrongUsage: If the API's address or the token is none.
        ExtraMissing: If there is an API to call, and the extra `client` is not installed.
        QueueUnavailable: If Redis does not answer; says why, and what to do.
    """
    settings = settings_anywhere()
    address = address_of(settings)
    if address is None and settings.shards.servers:
        with at_shards(settings) as desk:
            yield desk
        return
    if address is None:
        with opened_with(settings) as bandmaster, closing(DeskLedger(settings)) as ledger:
            yield Desk(
                QueueExecutions(bandmaster, ledger),
                QueueFigures(bandmaster, ledger),
                QueueControls(bandmaster),
                QueueLetters(bandmaster),
                QueueOutput(bandmaster),
                QueueSchedules(bandmaster),
            )
        return
    module: Any = import_extra("bandmaster.cli.desk.api_desk", "client")
    with module.at_api(address) as desk:
        yield desk
