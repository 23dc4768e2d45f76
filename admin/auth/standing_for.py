"""For whom a session or a one-time code stands: ``OfToken``, or ``OfUser`` of an OpenID provider, as Redis keeps it.

In the flow: signing in writes one, each request by cookie reads it, and what it may is worked out anew each time: a
token is looked up, and of a user the groups are looked up in the settings. Neither says what somebody may do, so a
record that is old gives nobody rights that were taken away. What cannot be read is nobody: a release that knows more
kinds wrote it.
"""

import hashlib
from typing import Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from .secrets import Secret
from .tokens import OF_USER, Token


class OfToken(BaseModel):
    """A token, as a session or a code keeps for whom it stands."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token_id: str
    digest: str

    @classmethod
    def of(cls, token: Token) -> "OfToken":
        """What is kept of a token."""
        return cls(token_id=token.token_id, digest=token.digest)

    @property
    def secret(self) -> Secret:
        """By which the token is found."""
        return Secret(self.token_id, self.digest)

    @property
    def whose(self) -> str:
        """Of whose sessions there is a bound."""
        return self.token_id


class OfUser(BaseModel):
    """A user of an OpenID provider, as the provider said at the login."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str
    client_id: str
    subject: str
    owner: str
    """The user as whom its executions count."""
    groups: tuple[str, ...]

    @property
    def whose(self) -> str:
        """Of whose sessions there is a bound: issuer and subject, which alone say who somebody is."""
        digest = hashlib.sha256(f"{self.issuer}\n{self.subject}".encode()).hexdigest()
        # No token has such an id: theirs have no colon.
        return f"{OF_USER}{digest[:32]}"


StandsFor = OfToken | OfUser
_READ: Final = TypeAdapter[StandsFor](StandsFor)


def read(record: str) -> StandsFor | None:
    """Read what was kept; None if it is nothing that this release knows."""
    try:
        return _READ.validate_json(record)
    except ValidationError:
        return None
