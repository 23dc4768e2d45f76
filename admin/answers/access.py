"""Documents about tokens, who calls, and probes."""

from typing import Literal

from pydantic import Field

from .document import Answer


class TokenAnswer(Answer):
    """A token, without its secret."""

    token_id: str
    owner: str
    scopes: list[str]
    max_band: str
    gates: list[str] | None
    """Patterns of the gates that its executions may name; none: any."""
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    robot_id: str | None = None
    """Of the scopes robot and settle: as which robot it takes items."""
    queues: list[str] | None = None
    """Of the scopes robot and settle: the queues that it is for; none: all."""


class NewToken(TokenAnswer):
    """A token that was just made."""

    token: str = Field(repr=False)
    """Its text, which is shown this once."""


class Tokens(Answer):
    """All tokens, the latest first."""

    tokens: list[TokenAnswer]


class Whoami(Answer):
    """Who the caller is."""

    owner: str
    token_id: str
    scopes: list[str]
    max_band: str
    gates: list[str] | None
    expires_at: str | None
    robot_id: str | None = None
    queues: list[str] | None = None


class SessionAnswer(Whoami):
    """Who is signed in by a browser, and for how long."""

    ends_at: str
    """When it is signed out at the latest."""
    idle_seconds: int
    """After which time without a request it is signed out."""
    csrf_token: str = Field(repr=False)
    """What each change needs as the header `X-CSRF-Token`."""


class Health(Answer):
    """That the process answers."""

    status: Literal["ok"]


class Readiness(Answer):
    """Whether the API can do its work."""

    status: Literal["ready", "degraded", "unready"]
    """`degraded`: all but the history, or nobody writes it."""
    redis: bool
    ledger: bool
    """Whether the history can be read."""
    written: bool
    """Whether somebody writes it."""
