"""What the client raises.

::

    BandmasterError
    └── ApiError
        ├── ApiProblem        the API refused, with a status and a stable code
        └── ApiUnavailable    it did not answer, or not in a form that this release knows
"""

from ...scheduler.model.errors import BandmasterError


class ApiError(BandmasterError):
    """The API did not do what it was asked to do."""


class ApiProblem(ApiError):
    """The API refused."""

    def __init__(self, status: int, code: str, detail: str, field: str | None = None) -> None:
        """Args: `status`, of HTTP; `code`, stable; `detail`, a sentence; `field`, what was wrong, if one field was."""
        super().__init__(f"{detail} ({status} {code})")
        self.status = status
        self.code = code
        self.detail = detail
        self.field = field


class ApiUnavailable(ApiError):
    """The API did not answer. A call that changes something may have taken effect."""

    def __init__(self, reason: str, *, url: str) -> None:
        """Args: `reason`, what happened; `url`, where the API was looked for."""
        super().__init__(f"the API at {url} did not answer: {reason}; is it running, and is this its address?")
