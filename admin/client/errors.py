"""What the client raises.

::

    BandmasterError
    └── ApiError
        ├── ApiProblem            the API refused, with a status and a stable code
        │   ├── NotAllowed        no valid token, or it does not allow this
        │   ├── NotFound          there is none, or the caller may not know of it
        │   ├── WrongState        it is not in a state in which this can be done
        │   ├── ChangedMeanwhile  it has another value than was seen
        │   ├── Invalid           a value is not allowed: sent again, it is refused again
        │   │   └── LinesRefused  lines of a file are wrong, and nothing was added
        │   ├── TooMany           nothing was done: send it later
        │   └── PartUnavailable   something that it needs does not answer
        └── ApiUnavailable        it did not answer, or not in a form that this release knows
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ...scheduler.model.errors import BandmasterError

if TYPE_CHECKING:
    from ..answers.items import LineRefused  # the command imports this module at each start

LINES_REFUSED: Final = "lines_refused"


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


class NotAllowed(ApiProblem):
    """There is no valid token, or it does not allow this."""


class NotFound(ApiProblem):
    """There is none, or the caller may not know of it."""


class WrongState(ApiProblem):
    """It is not in a state in which this can be done."""


class ChangedMeanwhile(ApiProblem):
    """It has another value than the one that was seen."""


class Invalid(ApiProblem):
    """A value is not allowed: sent again, it is refused again."""


class LinesRefused(Invalid):
    """Lines of a file are wrong, and nothing was added."""

    def __init__(self, status: int, detail: str, refused: int, lines: "Sequence[LineRefused]") -> None:
        """Args: `refused`, how many; `lines`, the first of them; the others as those of `ApiProblem`."""
        super().__init__(status, LINES_REFUSED, detail)
        self.refused = refused
        self.lines = tuple(lines)


class TooMany(ApiProblem):
    """Nothing was done, because there are too many: send it later."""


class PartUnavailable(ApiProblem):
    """Something that the API needs does not answer."""


_KIND_OF: Final[dict[str, type[ApiProblem]]] = {
    **dict.fromkeys(("unauthorized", "forbidden"), NotAllowed),
    "not_found": NotFound,
    **dict.fromkeys(("duplicate", "not_pending", "ended", "not_dead", "not_runnable", "in_use"), WrongState),
    **dict.fromkeys(("lease_lost", "wrong_status", "claim_over", "queue_inactive"), WrongState),
    **dict.fromkeys(("queue_has_items", "queue_has_triggers", "name_taken"), WrongState),
    "changed_meanwhile": ChangedMeanwhile,
    **dict.fromkeys(("invalid", "idempotency_key_reused", "too_large", "media_type", "if_match_needed"), Invalid),
    **dict.fromkeys(("queue_full", "user_limit", "rate_limited", "too_many_followers", "too_many_files"), TooMany),
    **dict.fromkeys(("redis_unavailable", "ledger_unavailable", "pods_unavailable"), PartUnavailable),
}


def problem_of(status: int, code: str, detail: str, field: str | None = None) -> ApiProblem:
    """Return a refusal as the kind of error that its code stands for; one that this release does not know, as none."""
    return _KIND_OF.get(code, ApiProblem)(status, code, detail, field)


class BusinessException(Exception):
    """An item is wrong itself, and never will be right: raised in the block that works on it, it fails for good."""


class ApiUnavailable(ApiError):
    """The API did not answer. A call that changes something may have taken effect."""

    def __init__(self, reason: str, *, url: str) -> None:
        """Args: `reason`, what happened; `url`, where the API was looked for."""
        super().__init__(f"the API at {url} did not answer: {reason}; is it running, and is this its address?")
