"""The statuses of an item, and who may change which into which (D41).

In the flow: every change of an item's status asks `check_change`, or names in its statement the status that it begins
from. Nothing else writes a status.

::

    NEW ──claim──▶ IN_PROGRESS ──▶ DONE
     ▲                 │ ├───────▶ FAILED      business, or no retries left
     │                 │ └───────▶ ABANDONED   the third lease that ran out
     └── due ── POSTPONED ◀── a failure that is retried later, or put off
    DELETED is reached from everywhere, and left for nothing.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from .errors import WrongStatus


class Status(StrEnum):
    """What an item is."""

    NEW = "NEW"
    """It waits for a robot."""
    IN_PROGRESS = "IN_PROGRESS"
    """A robot holds it."""
    POSTPONED = "POSTPONED"
    """It waits for a time, and is NEW then."""
    DONE = "DONE"
    FAILED = "FAILED"
    ABANDONED = "ABANDONED"
    """Three leases of it ran out."""
    DELETED = "DELETED"


class By(StrEnum):
    """Who changes a status."""

    ROBOT = "robot"
    """Who holds the item, or claims it."""
    CLOCK = "clock"
    OPERATOR = "operator"


class Failure(StrEnum):
    """Of which kind a failure is."""

    APPLICATION = "application"
    """Something did not work: it may the next time."""
    BUSINESS = "business"
    """The item itself is wrong: it never will."""


ENDED: Final = frozenset({Status.DONE, Status.FAILED, Status.ABANDONED, Status.DELETED})
"""Nothing becomes of these by itself."""
MOST_ABANDONED: Final = 3
"""After so many leases that ran out, an item is handed out no more."""
_DELETABLE: Final = frozenset(Status) - {Status.DELETED}
CHANGES: Final[Mapping[By, frozenset[tuple[Status, Status]]]] = MappingProxyType(
    {
        By.ROBOT: frozenset(
            {
                (Status.NEW, Status.IN_PROGRESS),
                *((Status.IN_PROGRESS, each) for each in (Status.DONE, Status.FAILED, Status.NEW, Status.POSTPONED)),
                (Status.IN_PROGRESS, Status.IN_PROGRESS),
            }
        ),
        By.CLOCK: frozenset(
            {
                (Status.POSTPONED, Status.NEW),
                (Status.IN_PROGRESS, Status.NEW),
                (Status.IN_PROGRESS, Status.ABANDONED),
            }
        ),
        By.OPERATOR: frozenset(
            {
                *((each, Status.DELETED) for each in _DELETABLE),
                *((each, Status.POSTPONED) for each in (Status.NEW, Status.IN_PROGRESS, Status.POSTPONED)),
                *((each, Status.NEW) for each in (Status.IN_PROGRESS, Status.POSTPONED, Status.FAILED)),
                (Status.ABANDONED, Status.NEW),
            }
        ),
    }
)
"""All changes that there are."""


def check_change(before: Status, after: Status, by: By) -> None:
    """Refuse a change that there is not.

    Raises:
        WrongStatus: If it may not be made.
    """
    if (before, after) not in CHANGES[by]:
        allowed = sorted(each for start, each in CHANGES[by] if start is before)
        raise WrongStatus(before, after, allowed=allowed, by=by)
