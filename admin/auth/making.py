"""Makes a new token, for the API and the command line. Nothing is kept here."""

from typing import Final

from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.priority import Priority
from .scopes import Scope
from .secrets import Secret
from .tokens import Token

MOST_GATES: Final = 64
GATE_MAX_CHARS: Final = 200


def check_gate_pattern(value: str) -> str:
    """Return the value if it may be a pattern of gates; else raise InvalidRequest."""
    if not value.strip() or not value.isprintable() or len(value) > GATE_MAX_CHARS:
        allowed = f"1 to {GATE_MAX_CHARS} printable characters, * for any"
        raise InvalidRequest("gates", f"{shown(value)} is no pattern of gates", allowed=allowed)
    return value


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
        check_gate_pattern(gate)
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
