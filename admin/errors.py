"""What the API refuses by itself; everything else that it answers with is an error of a layer below.

::

    BandmasterError
    └── Refused      with a status and a stable code
"""

from ..scheduler.model.errors import BandmasterError


class Refused(BandmasterError):
    """A request is refused."""

    def __init__(self, status: int, code: str, detail: str, *, headers: dict[str, str] | None = None) -> None:
        """Args: `status`, of HTTP; `code`, one of `problems.CODES`; `detail`, a sentence for people."""
        super().__init__(detail)
        self.status = status
        self.code = code
        self.headers = headers or {}


def unauthorized(detail: str) -> Refused:
    """Nobody knows who asks."""
    return Refused(401, "unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="bandmaster"'})


def forbidden(detail: str) -> Refused:
    """It is known who asks, and that is not enough."""
    return Refused(403, "forbidden", detail)


def not_found(detail: str) -> Refused:
    """There is no such thing, or this caller may not know of it."""
    return Refused(404, "not_found", detail)


def not_configured(detail: str) -> Refused:
    """It is not set up here."""
    return Refused(404, "not_configured", detail)


def busy(detail: str) -> Refused:
    """So much is under way that nothing more is begun."""
    return Refused(503, "busy", detail)


def rate_limited(detail: str, again_seconds: int, headers: dict[str, str]) -> Refused:
    """It comes too often."""
    return Refused(429, "rate_limited", detail, headers={"Retry-After": str(again_seconds), **headers})


def too_many_lookups() -> Refused:
    """More tokens are being looked up than there are places for."""
    return rate_limited("too many tokens are being looked up", again_seconds=1, headers={})
