"""Who the caller is, and what it may do."""

from typing import Final

from fastapi import APIRouter

from ...scheduler.model.times import iso_of
from ..answers.access import Whoami
from .requiring import ReadCaller

router: Final = APIRouter()


@router.get("/whoami", summary="Show who the caller is")
async def whoami(caller: ReadCaller) -> Whoami:
    """The owner of the token, and what the token allows."""
    token = caller.token
    return Whoami(
        owner=token.owner,
        token_id=token.token_id,
        scopes=sorted(token.scopes),
        max_band=token.max_band.name,
        gates=None if token.gates is None else list(token.gates),
        expires_at=iso_of(token.expires_ms),
    )
