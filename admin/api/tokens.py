"""Tokens: made, listed and revoked by admins. A secret is in one answer, that which made it, and in no log."""

from typing import Final

from fastapi import APIRouter

from ..answers.access import NewToken, TokenAnswer, Tokens
from ..auth.making import new_token
from ..auth.token_table import TokenTable
from ..errors import Refused, not_found
from ..services import Services
from .moments import ms_of
from .names import TokenId
from .requests import TokenSent
from .requiring import AdminCaller, ServicesOf
from .shapes import token_answer
from .strict_bodies import StrictRoute

router: Final = APIRouter(route_class=StrictRoute)


@router.get("/tokens", summary="List tokens")
def list_tokens(services: ServicesOf, caller: AdminCaller) -> Tokens:
    """Those of the database, revoked ones too; those of a file are not among them."""
    return Tokens(tokens=[token_answer(token) for token in _table(services).all()])


@router.post("/tokens", status_code=201, summary="Make a token")
def create_token(services: ServicesOf, caller: AdminCaller, sent: TokenSent) -> NewToken:
    """Its text is in this answer only."""
    token, secret = new_token(
        owner=sent.owner,
        scopes=frozenset(sent.scopes),
        max_band=sent.max_band,
        gates=None if sent.gates is None else tuple(sent.gates),
        expires_ms=ms_of(sent.expires_at),
        created_by=caller.by,
        robot_id=sent.robot_id,
        queues=None if sent.queues is None else tuple(sent.queues),
    )
    kept = _table(services).add(token)
    return NewToken(**token_answer(kept).model_dump(), token=secret.text)


@router.delete("/tokens/{token_id}", summary="Revoke a token")
def revoke_token(services: ServicesOf, caller: AdminCaller, token_id: TokenId) -> TokenAnswer:
    """It is refused from then on, by other API processes within 5 s."""
    token = _table(services).revoke(token_id, by=caller.by)
    services.keeper.forget(token_id)
    if token is None:
        raise not_found("there is no such token in the database")
    return token_answer(token)


def _table(services: Services) -> TokenTable:
    if services.keeper.table is None:
        raise Refused(409, "no_token_table", "the tokens of this API are in a file: change that")
    return services.keeper.table
