"""Probes: whether the process answers, and whether it can do its work. They need no token and tell nothing else.

What hangs, be it Redis or the ledger's database, counts as away before whoever probes gives up.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from fastapi import APIRouter, Response

from ...ledger.errors import LedgerError
from ...scheduler.model.errors import QueueUnavailable
from ..answers.access import Health, Readiness
from ..services import Services
from .requiring import ServicesOf

router: Final = APIRouter()
LOOK_SECONDS: Final = 0.8
"""Less than a second, for which Kubernetes waits unless it is told otherwise."""


@router.get("/healthz", summary="Whether the process answers")
async def show_health() -> Health:
    """Asks nothing."""
    return Health(status="ok")


@router.get("/readyz", summary="Whether the API can do its work", responses={503: {"model": Readiness}})
async def show_readiness(services: ServicesOf, response: Response) -> Readiness:
    """503 without Redis. `degraded`: the history cannot be read, or nobody writes it; everything else works."""
    redis, ledger = await asyncio.gather(_seen(services, _answers), _seen(services, _is_written))
    has_redis = redis is True  # and neither False nor unheard
    response.status_code = 200 if has_redis else 503
    status = "unready" if not has_redis else "ready" if ledger is True else "degraded"
    return Readiness(status=status, redis=has_redis, ledger=ledger is not None, written=ledger is True)


async def _seen(services: Services, look: Callable[[Services], bool | None]) -> bool | None:
    """What a look at something says, for all who probe meanwhile; None: nothing in time."""
    try:
        return await asyncio.wait_for(services.probes.run_once(look, look, services), LOOK_SECONDS)
    except TimeoutError:
        return None


def _answers(services: Services) -> bool:
    try:
        services.queue.views.server_time_ms()
    except QueueUnavailable:
        return False
    return True


def _is_written(services: Services) -> bool | None:
    """Whether somebody writes it; None if it cannot be read."""
    try:
        return services.ledger.soon(services.ledger.is_written)
    except LedgerError:
        return None
