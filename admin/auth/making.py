"""Makes a new token, for the API and the command line. Nothing is kept here."""

from typing import Final

from ...items.names import check_queue_name, check_robot_id
from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.priority import Priority
from .scopes import Scope
from .secrets import Secret
from .tokens import Token

MOST_GATES: Final = 64
GATE_MAX_CHARS: Final = 200
MOST_QUEUES: Final = 64


def check_gate_pattern(value: str) -> str:
    """Return the value if it may be a pattern of gates; else raise InvalidRequest."""
    if not value.strip() or not value.isprintable() or len(value) > GATE_MAX_CHARS:
        allowed = f"1 to {GATE_MAX_CHARS} printable characters, * for any"
        raise InvalidRequest("gates", f"{shown(value)} is no pattern of gates", allowed=allowed)
    return value


def check_robot(scopes: frozenset[Scope], robot_id: str | None, queues: tuple[str, ...] | None) -> None:
    """Refuse a robot's token without its robot, and a robot or queues of a token that is none.

    Raises:
        InvalidRequest: If they do not fit together.
    """
    if robot_id is not None:
        check_robot_id(robot_id)
    for name in queues or ():
        check_queue_name(name)
    if len(queues or ()) > MOST_QUEUES or queues == ():
        raise InvalidRequest("queues", f"{len(queues or ())} are given", allowed=f"1 to {MOST_QUEUES}, or none for all")
    is_robot = not scopes.isdisjoint({Scope.ROBOT, Scope.SETTLE})
    if is_robot != (robot_id is not None):
        raise InvalidRequest("robot_id", "it goes with the scopes robot and settle", allowed="both, or neither")
    if queues is not None and not is_robot:
        raise InvalidRequest("queues", "they go with the scopes robot and settle", allowed="only with them")


def new_token(
    *,
    owner: str,
    scopes: frozenset[Scope],
    max_band: Priority,
    gates: tuple[str, ...] | None,
    expires_ms: int | None,
    created_by: str,
    robot_id: str | None = None,
    queues: tuple[str, ...] | None = None,
) -> tuple[Token, Secret]:
    """Return a token and its secret.

    Raises:
        InvalidRequest: If a pattern of gates cannot be one, or robot and queues do not fit the scopes.
    """
    for gate in gates or ():
        check_gate_pattern(gate)
    if len(gates or ()) > MOST_GATES:
        raise InvalidRequest("gates", f"{len(gates or ())} patterns are given", allowed=f"at most {MOST_GATES}")
    check_robot(scopes, robot_id, queues)
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
            robot_id=robot_id,
            queues=queues,
        ),
        secret,
    )
