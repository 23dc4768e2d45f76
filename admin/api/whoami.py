"""Who the caller is, and what it may do."""

from typing import Final

from fastapi import APIRouter

from ..answers.access import Whoami
from .requiring import ReadCaller
from .shapes import whoami_answer

router: Final = APIRouter()


@router.get("/whoami", summary="Show who the caller is")
async def whoami(caller: ReadCaller) -> Whoami:
    """The owner of the token, and what the token allows."""
    return whoami_answer(caller.token)
