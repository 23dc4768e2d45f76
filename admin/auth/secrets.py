"""A token's text, ``bm_ID_SECRET``, and the digest that is kept of it.

The secret has 256 random bits, so that its plain SHA-256 can be kept: nobody can try them all, and a slow hash would
only slow each request. Digests are compared in constant time.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Final

from ...scheduler.model.errors import InvalidRequest, shown

_ID_BYTES: Final = 6
_SECRET_BYTES: Final = 32
TOKEN_ID: Final = re.compile(r"[A-Za-z0-9.-]{1,64}")
_TOKEN: Final = re.compile(rf"bm_({TOKEN_ID.pattern})_([A-Za-z0-9_-]{{43}})")


def check_token_id(value: str) -> str:
    """Return the value if it may be a token's id; else raise InvalidRequest."""
    if TOKEN_ID.fullmatch(value):
        return value
    raise InvalidRequest(
        "token_id", f"{shown(value)} is not a token's id", allowed="1 to 64 characters of A-Z a-z 0-9 . -"
    )


@dataclass(frozen=True, slots=True)
class Secret:
    """What a caller sends, in its two parts."""

    token_id: str
    digest: str
    """SHA-256 of the secret, in hexadecimal digits."""
    text: str = field(default="", repr=False)
    """Empty where only the digest is known."""

    @classmethod
    def new(cls, token_id: str | None = None) -> "Secret":
        """Make one that nobody knows; None: under an id that nobody has."""
        return cls.of(token_id or secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES))

    @classmethod
    def of(cls, token_id: str, secret: str) -> "Secret":
        """Put one together from its parts."""
        return cls(token_id, hashlib.sha256(secret.encode()).hexdigest(), f"bm_{token_id}_{secret}")

    @classmethod
    def read(cls, text: str) -> "Secret | None":
        """Read what a caller sent; None if it cannot be a token."""
        parts = _TOKEN.fullmatch(text)
        return None if parts is None else cls.of(*parts.groups())

    def matches(self, digest: str) -> bool:
        """Whether it is the secret of which this digest is kept."""
        return hmac.compare_digest(self.digest, digest)
