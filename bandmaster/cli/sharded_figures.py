"""The figures of all shards, for `status` and `top`: one line a shard, those that are away among them.

In the flow: reads only, all servers at once. `--shard NAME` before the command shows one in full.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bandmaster.cli.desk.port import ShardFigures
from bandmaster.cli.desk.told import Standing
from bandmaster.cli.screen import Column
from bandmaster.scheduler.shards.asking import ask_all

AWAY_SECONDS: Final = 2.0
COLUMNS = (
    *(Column("SHARD"), Column("WAITING", right=True), Column("RUNNING", right=True)),
    *(Column("SCHEDULED", right=True), Column("DEAD", right=True), Column("LED"), Column("STATE", folds=True)),
)


@dataclass(frozen=True, slots=True)
class ShardStanding:
    """One shard at a glance."""

    name: str
    standing: Standing | None
    """None: it is away."""
    away: str = ""
    """Why."""


def standings_of(shards: Mapping[str, ShardFigures]) -> list[ShardStanding]:
    """Ask all shards, and return what each told, in their order.

    One that does not answer within `AWAY_SECONDS` is asked nothing more: each of many calls would wait for it.
    """
    there = ask_all(shards, lambda each: each.answer(), within_seconds=AWAY_SECONDS)
    answers = ask_all({name: shards[name] for name in there.found}, lambda each: each.standing())
    away = there.away | answers.away
    return [ShardStanding(name, answers.found.get(name), away.get(name, "")) for name in shards]


def row_of(each: ShardStanding) -> list[str]:
    """Return one shard's line."""
    standing = each.standing
    if standing is None:
        return [each.name, "", "", "", "", "", f"away: {each.away}"]
    figures = [load for _, load in standing.lanes]
    worst = f"{standing.verdicts[0].severity}: {standing.verdicts[0].sentence}" if standing.verdicts else "answers"
    return [
        each.name,
        *(str(sum(one.queue_depth for one in figures)), str(sum(one.active_count for one in figures))),
        *(str(sum(one.scheduled_count for one in figures)), str(standing.dead_count)),
        *("no" if standing.leader is None else "yes", worst),
    ]
