"""``at_shards``: the desk of a command beside several servers.

In the flow: `at_desk` opens it where the settings have shards and none was named by `--shard`. Executions are found,
listed, shown, sent and cancelled on whatever shard they are. Limits, pauses, settings, schedules and dead letters
belong to one server each: their commands name it. Nothing is connected before it is asked, so a server that is away is
told of.
"""

from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Any, cast

from bandmaster.cli.desk.desk_ledger import DeskLedger
from bandmaster.cli.desk.port import Controls, Desk, Figures, Letters, Schedules
from bandmaster.cli.desk.queue_executions import QueueExecutions
from bandmaster.cli.desk.queue_figures import QueueFigures
from bandmaster.cli.desk.queue_output import QueueOutput
from bandmaster.cli.desk.sharded_executions import Part, ShardedExecutions, ShardedOutput
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.opening import opened_on
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.server.connection import client_of, redis_url
from bandmaster.scheduler.shards.asking import ask_all
from bandmaster.scheduler.shards.mapping import ShardMap


class OfOneShard:
    """Stands for what belongs to one server: whatever is asked of it, the command has to name the server."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        raise WrongUsage(
            f"this belongs to one server: name its shard before the command, --shard {' or '.join(self._names)}"
        )


class ShardedFigures(OfOneShard):
    """Of all figures, what a command that sends needs."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        super().__init__(tuple(parts))
        self._parts = parts

    def missing_worker(self, lane: str) -> str | None:
        """A warning for each shard of which no worker has lately asked for a lane; else None."""
        answers = ask_all(self._parts, lambda each: each.figures.missing_worker(lane))
        missing = [f"shard {name}: {said}" for name, said in answers.found.items() if said]
        return "; ".join(missing) or None


@contextmanager
def at_shards(settings: Settings) -> Generator[Desk]:
    """Open the desk until the command has ended.

    Raises:
        SettingsError: If a shard has no ledger, though `ledger.url` is set.
    """
    shards = ShardMap(settings.shards.servers)
    with ExitStack() as entered:
        parts = {name: _part(settings.of_shard(name), entered) for name in shards.names}
        executions = ShardedExecutions(parts, shards)
        refusal: Any = OfOneShard(shards.names)
        yield Desk(
            executions,
            cast("Figures", ShardedFigures(parts)),
            cast("Controls", refusal),
            cast("Letters", refusal),
            ShardedOutput(parts, executions),
            cast("Schedules", refusal),
            {name: each.figures for name, each in parts.items()},
        )


def _part(own: Settings, entered: ExitStack) -> Part:
    timeout_seconds = own.redis.command_timeout_seconds
    client = entered.enter_context(
        client_of(redis_url(own), socket_timeout_seconds=timeout_seconds, name="bandmaster-cli")
    )
    bandmaster = opened_on(own, client)
    ledger = entered.enter_context(closing(DeskLedger(own)))
    return Part(QueueExecutions(bandmaster, ledger), QueueFigures(bandmaster, ledger), QueueOutput(bandmaster))
