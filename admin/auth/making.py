"""Makes a new token, for the API and the command line. Nothing is kept here."""

from typing import Final

from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.priority import Priority
from .scopes import Scope
from .secrets import Secret
from .tokens import Token

MOST_GATES: Final = 64
GATE_MAX_CHARS: Final = 200


def new_token(
    *,
    owner: str,
    scopes: frozenset[Scope],
    max_band: Priority,
    gates: tuple[str, ...] | None,
    expires_ms: int | None,
    created_by: str,
) -> tuple[Token, Secret]:
    """Return a token and its secret.

    Raises:
        InvalidRequest: If a pattern of gates cannot be one.
    """
    for gate in gates or ():
        if not gate.strip() or not gate.isprintable() or len(gate) > GATE_MAX_CHARS:
            allowed = f"1 to {GATE_MAX_CHARS} printable characters, * for any"
            raise InvalidRequest("gates", f"{shown(gate)} is no pattern of gates", allowed=allowed)
    if len(gates or ()) > MOST_GATES:
        raise InvalidRequest("gates", f"{len(gates or ())} patterns are given", allowed=f"at most {MOST_GATES}")
    secret = Secret.new()
    return (
        Token(
            token_id=secret.token_id,
            digest=secret.digest,
            owner=owner,
            scopes=scopes,
            max_band=max_band,
            gates=gates,
            created_by=created_by,
            expires_ms=expires_ms,
        ),
        secret,
    )
