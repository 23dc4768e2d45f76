"""Random texts that stand for who has them, and of which only a digest is kept: ids of sessions, one-time codes.

They have 256 random bits, as tokens have, and so their plain SHA-256 can be kept.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Final

_BYTES: Final = 32
CHARS: Final = 43
_TEXT: Final = re.compile(rf"[A-Za-z0-9_-]{{{CHARS}}}")
_CSRF: Final = b"csrf"


@dataclass(frozen=True, slots=True)
class Unguessable:
    """A random text."""

    text: str = field(repr=False)
    digest: str
    """SHA-256 of the text, in hexadecimal digits."""

    @classmethod
    def new(cls) -> "Unguessable":
        """Make one that nobody knows."""
        return cls._of(secrets.token_urlsafe(_BYTES))

    @classmethod
    def read(cls, text: str | None) -> "Unguessable | None":
        """Read what a caller sent; None if it cannot be one."""
        return cls._of(text) if text is not None and _TEXT.fullmatch(text) else None

    @classmethod
    def _of(cls, text: str) -> "Unguessable":
        return cls(text, hashlib.sha256(text.encode()).hexdigest())

    @property
    def csrf_token(self) -> str:
        """What a page of the API says with each change: only who was told of it by the API can, and no other page."""
        mac = hmac.digest(self.text.encode(), _CSRF, "sha256")
        return base64.urlsafe_b64encode(mac).decode().rstrip("=")

    def is_csrf_token(self, said: str) -> bool:
        """Whether a text is it."""
        return hmac.compare_digest(self.csrf_token.encode(), said.encode(errors="replace"))
