"""``Attempts``: logins that are under way, between the browser's leaving for the provider and its coming back.

In the flow: beginning keeps one in Redis, under the digest of its `state`; coming back takes it, once. It is the
browser's that began it, which has a cookie of that one login: a link that somebody sends, with a `state` and a code of
their own, signs nobody in as them. Any process of the API may see the browser come back. What nobody comes back for is
gone after ten minutes, and so is everything of it if the process dies.
"""

import secrets
from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...scheduler.engine.sessions import Sessions
from ...scheduler.transport.scripts import Scripts
from ..auth.unguessable import Unguessable

ATTEMPT_SECONDS: Final = 600
"""How long a login may take at the provider."""
_VERIFIER_BYTES: Final = 48
_NONCE_BYTES: Final = 32


class Attempt(BaseModel):
    """What is kept of a login."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    browser: str
    """The digest of what the browser's cookie has."""
    verifier: str = Field(repr=False)
    """Of PKCE: the code is of no use without it, and nobody but this API has seen it."""
    nonce: str
    """What the provider has to sign, so that nothing that it signed for another login is taken."""
    before: str
    """The digest of the session that the browser had; empty for none."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A login that begins."""

    state: Unguessable
    browser: Unguessable
    kept: Attempt = field(repr=False)

    @classmethod
    def new(cls, *, before: str) -> "Begun":
        """Make one that nobody knows. `before`: the digest of the session that the browser has."""
        browser = Unguessable.new()
        verifier, nonce = secrets.token_urlsafe(_VERIFIER_BYTES), secrets.token_urlsafe(_NONCE_BYTES)
        return cls(
            Unguessable.new(), browser, Attempt(browser=browser.digest, verifier=verifier, nonce=nonce, before=before)
        )


class Attempts:
    """The logins under way. Safe to share between threads; each method raises QueueUnavailable if Redis does not
    answer."""

    def __init__(self, scripts: Scripts) -> None:
        """Makes no call."""
        self._sessions = Sessions(scripts)

    def keep(self, begun: Begun) -> None:
        """Keep a login until the browser comes back."""
        # Beside the one-time codes, each of which a digest of 256 random bits names. Neither can be taken for the
        # other: what is kept of them has other fields.
        self._sessions.keep_code(begun.state.digest, begun.kept.model_dump_json(), seconds=ATTEMPT_SECONDS)

    def take(self, state: Unguessable, browser: Unguessable) -> Attempt | None:
        """Return a login, and let nobody come back for it again; None if there is none of this browser."""
        kept = _read(self._sessions.code(state.digest))
        # Looked at first: who knows the state of another's login, and not the cookie, does not end it.
        if kept is None or kept.browser != browser.digest:
            return None
        return _read(self._sessions.take_code(state.digest))


def _read(record: str | None) -> Attempt | None:
    try:
        return None if record is None else Attempt.model_validate_json(record)
    except ValidationError:
        return None
