"""Calls about tokens, who calls, and probes. In the flow: see the package."""

from collections.abc import Sequence
from datetime import datetime

from ...answers.access import Health, NewToken, Readiness, TokenAnswer, Tokens, Whoami
from ..call import V1, Call, given, named


def tokens() -> Call[Tokens]:
    """All tokens of the database, without their secrets."""
    return Call("GET", f"{V1}/tokens", Tokens)


def create_token(
    owner: str,
    scopes: Sequence[str],
    *,
    max_band: str | None = None,
    gates: Sequence[str] | None = None,
    expires_at: datetime | None = None,
    robot_id: str | None = None,
    queues: Sequence[str] | None = None,
) -> Call[NewToken]:
    """Make a token; its text is in this answer only. `robot_id` and `queues`: with the scopes robot and settle."""
    body = {"owner": owner, "scopes": list(scopes)} | given(max_band=max_band, gates=gates, expires_at=expires_at)
    body |= given(robot_id=robot_id, queues=queues)
    return Call("POST", f"{V1}/tokens", NewToken, body=body)


def revoke_token(token_id: str) -> Call[TokenAnswer]:
    """Let a token be refused from now on."""
    return Call("DELETE", named("tokens", token_id), TokenAnswer)


def whoami() -> Call[Whoami]:
    """Who the caller is."""
    return Call("GET", f"{V1}/whoami", Whoami)


def health() -> Call[Health]:
    """Whether the process answers."""
    return Call("GET", "/healthz", Health)


def readiness() -> Call[Readiness]:
    """Whether the API can do its work; without Redis the status is 503, and the document says so."""
    return Call("GET", "/readyz", Readiness, documents=(503,))
