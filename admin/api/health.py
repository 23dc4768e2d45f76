"""Probes: whether the process answers, and whether it can do its work. They need no token and tell nothing else."""

from functools import partial
from typing import Final

from fastapi import APIRouter, Response

from ...ledger.errors import LedgerError
from ...scheduler.model.errors import QueueUnavailable
from ..answers.access import Health, Readiness
from ..services import Services
from .requiring import ServicesOf

router: Final = APIRouter()


@router.get("/healthz", summary="Whether the process answers")
async def show_health() -> Health:
    """Asks nothing."""
    return Health(status="ok")


@router.get("/readyz", summary="Whether the API can do its work", responses={503: {"model": Readiness}})
async def show_readiness(services: ServicesOf, response: Response) -> Readiness:
    """503 without Redis. Without the ledger's database, everything but the history works: `degraded`."""
    has_redis, has_ledger = await services.readiness.at(partial(_answers, services), partial(_is_written, services))
    response.status_code = 200 if has_redis else 503
    status = "unready" if not has_redis else "ready" if has_ledger else "degraded"
    return Readiness(status=status, redis=has_redis, ledger=has_ledger)


def _answers(services: Services) -> bool:
    try:
        services.queue.views.server_time_ms()
    except QueueUnavailable:
        return False
    return True


def _is_written(services: Services) -> bool:
    try:
        services.ledger.soon(services.ledger.look)
    except LedgerError:
        return False
    return True
