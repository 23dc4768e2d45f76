"""Shards: every server of the installation, with its figures or why it is away.

In the flow: the rest of the API works on one shard; this asks all, under one deadline, and needs none of them to
answer. It takes no turn of the routes that ask Redis. Addresses are for operators, as are names of users that are
paused.
"""

from typing import Final

from fastapi import APIRouter

from ...scheduler.shards.asking import Answers
from ..answers.shards import ShardAnswer, ShardFiguresAnswer, ShardsAnswer
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..shards.figures import ShardFigures
from ..shards.shards import Shard, Shards
from .loads import sees_gate
from .moments import shown_at
from .requiring import ReadCaller, ServicesOf

router: Final = APIRouter()
_AWAY: Final = "its server did not answer in time, or refused"


@router.get("/shards", summary="List the servers of the installation")
async def list_shards(services: ServicesOf, caller: ReadCaller) -> ShardsAnswer:
    """Asked all at once; one that does not answer within the deadline is away, and holds up no other's figures."""
    seen = await services.shards.figures()
    return ShardsAnswer(
        shards=[
            _row(services.shards, name, each, seen.answers, caller) for name, each in services.shards.shards.items()
        ],
        source="redis",
        as_of=shown_at(seen.asked_ms),
    )


def _row(shards: Shards, name: str, shard: Shard, answers: Answers[ShardFigures], caller: Caller) -> ShardAnswer:
    is_operator = caller.token.may(Scope.OPERATE)
    reason = answers.away.get(name)
    figures = answers.found.get(name)
    return ShardAnswer(
        shard=name,
        bands=list(shard.bands),
        lanes=list(shard.lanes),
        is_own=name == shards.own,
        url=shard.url if is_operator else None,
        is_away=figures is None,
        away_because=None if reason is None else reason if is_operator else _AWAY,
        figures=None if figures is None else _figures(figures, caller),
    )


def _figures(figures: ShardFigures, caller: Caller) -> ShardFiguresAnswer:
    return ShardFiguresAnswer(
        as_of=shown_at(figures.now_ms),
        queue_depth=figures.queue_depth,
        active_count=figures.active_count,
        scheduled_count=figures.scheduled_count,
        dead_count=figures.dead_count,
        oldest_wait_seconds=figures.oldest_wait_ms / 1000,
        paused=[name for name in figures.paused if sees_gate(caller, name)],
        leader=figures.leader,
        workers=figures.workers,
        threads=figures.threads,
    )
